import { posix } from 'node:path'
import type { SourceFile } from './source-files.ts'

const ALL_ROOMS = [
  'client',
  'contract',
  'runtime',
  'queue',
  'db',
  'health',
  'api',
  'tagger',
  'worker',
  'cli',
  'cli/progress-bar.ts',
  'cli/start',
  'cli/import',
]

/**
 * Which room may import which, beside itself. A folder that has a line of its own is a room of its
 * own.
 */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  // It becomes a package of its own, which has nothing else of ours.
  client: [],
  // Each is copied and changed by somebody, and knows the client as that package.
  'docs/recipes': [],
  runtime: ['contract'],
  queue: ['contract', 'runtime'],
  db: ['contract', 'runtime'],
  health: ['contract', 'runtime', 'queue', 'db'],
  api: ['contract', 'runtime', 'queue', 'db', 'health'],
  // Text and memory in, tags out: it knows neither Postgres nor Redis.
  tagger: ['contract', 'runtime'],
  worker: ['contract', 'runtime', 'queue', 'db', 'tagger'],
  cli: ['contract', 'runtime', 'queue', 'db', 'health', 'cli/progress-bar.ts', 'cli/start'],
  'cli/progress-bar.ts': [],
  // It is started before there is a server to talk to, and leaves that to the programs that it
  // starts.
  'cli/start': ['contract', 'runtime'],
  // A client: it speaks HTTP, and reaches neither Postgres nor Redis.
  'cli/import': ['contract', 'runtime', 'cli/progress-bar.ts'],
  // They look at the whole, and no room imports them.
  bench: [...ALL_ROOMS, 'test'],
  demo: ALL_ROOMS,
  tools: ['runtime'],
  test: [...ALL_ROOMS, 'bench', 'demo', 'docs/recipes', 'tools'],
}

/** Packages that belong to one room. What looks at the whole may import them all. */
export const ONLY_IN: Readonly<Record<string, string>> = {
  '@bull-board/api': 'api',
  '@modelcontextprotocol/server': 'api',
  '@elysiajs/bearer': 'api',
  bullmq: 'queue',
  elysia: 'api',
  ioredis: 'queue',
  postgres: 'db',
  standardwebhooks: 'worker',
}

const LOOK_AT_ALL: ReadonlySet<string> = new Set(['bench', 'demo', 'test'])

type Import = {
  readonly from: string
  readonly line: number
  readonly specifier: string
}

/**
 * One sentence for each import that the tables above do not allow, and for each circle of imports.
 */
export const findImportViolations = (files: readonly SourceFile[]): string[] => {
  const imports = files.flatMap(readImports)
  return [...imports.flatMap(judge), ...findCircles(imports)]
}

const readImports = ({ path, text }: SourceFile): Import[] => {
  // Blanked rather than cut, so that positions stay true.
  const code = text.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, (comment) => comment.replaceAll(/./g, ' '))
  const forms = [
    // What is imported can only be a name, a star or names in braces: an exported declaration never
    // looks like this.
    /^[ \t]*(?:import|export)\s+(?:type\s+)?(?:[\w$]+\s*,?\s*)?(?:\*(?:\s*as\s+[\w$]+)?|\{[^}]*\})?\s*from\s*(['"])(?<specifier>[^'"]+)\1/gm,
    /^[ \t]*import\s*(['"])(?<specifier>[^'"]+)\1/gm,
    /\b(?:import|require)\s*\(\s*(['"`])(?<specifier>[^'"`$]+)\1/g,
  ]
  return forms.flatMap((form) =>
    [...code.matchAll(form)].map((match) => ({
      from: path,
      line: code.slice(0, match.index + match[0].length).split('\n').length,
      specifier: match.groups?.['specifier'] ?? '',
    })),
  )
}

const judge = (found: Import): string[] => {
  const room = roomOf(found.from)
  if (room === undefined) return [`${found.from} belongs to no room of the house`]
  const where = `${found.from}:${found.line} imports ${found.specifier}`
  if (!found.specifier.startsWith('.')) {
    const owner = ONLY_IN[packageOf(found.specifier)]
    return owner === undefined || owner === room || LOOK_AT_ALL.has(room) ? [] : [`${where}, which belongs to ${owner}`]
  }
  const target = roomOf(resolve(found))
  if (target === undefined) return [`${where}, which belongs to no room of the house`]
  const allowed = target === room || MAY_IMPORT[room]?.includes(target) === true
  return allowed ? [] : [`${where}: ${room} may not import ${target}`]
}

const roomOf = (path: string): string | undefined => {
  // The longest name comes first, so that cli/import is not taken for cli.
  return Object.keys(MAY_IMPORT)
    .toSorted((one, other) => other.length - one.length)
    .find((room) => path === room || path.startsWith(`${room}/`))
}

const packageOf = (specifier: string): string => {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

const resolve = ({ from, specifier }: Import): string => {
  return posix.join(posix.dirname(from), specifier)
}

/**
 * Each circle once, whichever file it is entered by. Circles of types count: they are as hard to
 * read.
 */
const findCircles = (imports: readonly Import[]): string[] => {
  const targets = new Map<string, string[]>()
  for (const found of imports) {
    if (found.specifier.startsWith('.')) {
      targets.set(found.from, [...(targets.get(found.from) ?? []), resolve(found)])
    }
  }
  const circles = new Set<string>()
  const done = new Set<string>()
  const walk = (file: string, trail: readonly string[]): void => {
    const start = trail.indexOf(file)
    if (start !== -1) circles.add(describeCircle(trail.slice(start)))
    if (start !== -1 || done.has(file)) return
    for (const target of targets.get(file) ?? []) walk(target, [...trail, file])
    done.add(file)
  }
  for (const file of targets.keys()) walk(file, [])
  return [...circles]
}

const describeCircle = (files: readonly string[]): string => {
  const first = files.indexOf(files.toSorted()[0] ?? '')
  const turned = [...files.slice(first), ...files.slice(0, first)]
  return `a circle of imports: ${[...turned, turned[0]].join(' → ')}`
}
