import { posix } from 'node:path'
import type { TextFile } from './source-files.ts'

/** The rooms of the product. */
export const SERVICE_ROOMS = [
  'client',
  'contract',
  'fold',
  'runtime',
  'queue',
  'db',
  'health',
  'insights',
  'api',
  'api/openapi',
  'api/mcp',
  'tagger',
  'meaning',
  'alerts',
  'worker',
  'cli',
  'cli/progress-bar.ts',
  'cli/start',
  'cli/import',
]

/**
 * The rooms that each room may import, in addition to itself. A folder or file with its own line is
 * a room.
 */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  // The client becomes a package without other code of ours.
  client: [],
  // Users copy and change the recipes, which import the client as a package.
  'docs/recipes': [],
  runtime: ['contract'],
  queue: ['contract', 'runtime'],
  // The rules, pure. `db/` implements the rows that they speak of.
  fold: ['contract'],
  db: ['contract', 'fold', 'runtime'],
  health: ['contract', 'runtime', 'queue', 'db'],
  api: ['contract', 'runtime', 'queue', 'db', 'health', 'tagger', 'insights', 'api/openapi', 'api/mcp'],
  'api/openapi': ['contract', 'runtime', 'db', 'api'],
  // The interface of agents reads as the lists over HTTP do.
  'api/mcp': ['contract', 'runtime', 'db', 'tagger', 'api'],
  // Pages for people who read, from the reads that its callers bring. The tagger reads searched words.
  insights: ['contract', 'runtime', 'db', 'tagger'],
  // The tagger uses neither Postgres nor Redis.
  tagger: ['contract', 'runtime'],
  // Decides by what the tagger reads in a text, and by sums that the caller brings.
  meaning: ['contract', 'runtime', 'tagger'],
  // Decides by counts that the caller brings.
  alerts: ['contract', 'runtime'],
  worker: ['contract', 'fold', 'runtime', 'queue', 'db', 'tagger', 'meaning', 'alerts'],
  cli: [
    'contract',
    'runtime',
    'queue',
    'db',
    'health',
    'tagger',
    'meaning',
    'insights',
    'cli/progress-bar.ts',
    'cli/start',
  ],
  'cli/progress-bar.ts': [],
  // `npm start` starts the servers. Its child processes connect to them.
  'cli/start': ['contract', 'runtime'],
  // The import is a client of the HTTP interface.
  'cli/import': ['contract', 'runtime', 'client', 'cli/progress-bar.ts'],
  // Only tests import bench, demo and tools. Only the benchmark imports helpers of the tests.
  bench: [...SERVICE_ROOMS, 'test'],
  demo: SERVICE_ROOMS,
  tools: ['runtime'],
  test: [...SERVICE_ROOMS, 'bench', 'demo', 'docs/recipes', 'tools'],
}

/** Packages that belong to one room. The rooms in WITH_ALL_PACKAGES may import them, too. */
const ONLY_IN: Readonly<Record<string, string>> = {
  '@bull-board/api': 'api',
  '@modelcontextprotocol/server': 'api/mcp',
  '@elysiajs/bearer': 'api',
  bullmq: 'queue',
  elysia: 'api',
  ioredis: 'queue',
  postgres: 'db',
  standardwebhooks: 'test',
}

const WITH_ALL_PACKAGES: ReadonlySet<string> = new Set(['bench', 'demo', 'test'])

type ImportStatement = {
  readonly from: string
  readonly line: number
  readonly specifier: string
}

/** One sentence for each import that the tables above forbid, and for circles of imports. */
export const findImportViolations = (files: readonly TextFile[]): string[] => {
  const imports = files.flatMap(readImports)
  return [...imports.flatMap(judge), ...findCircles(imports)]
}

const readImports = ({ path, text }: TextFile): ImportStatement[] => {
  // Blanked instead of removed, so that line numbers stay valid.
  const code = text.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, (comment) => comment.replaceAll(/./g, ' '))
  const forms = [
    // An import has a name, a star or names in braces, unlike an exported declaration.
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

const judge = (found: ImportStatement): string[] => {
  const room = roomOf(found.from)
  if (room === undefined) return [`${found.from} belongs to no room`]
  const where = `${found.from}:${found.line} imports ${found.specifier}`
  if (!found.specifier.startsWith('.')) {
    const owner = ONLY_IN[packageOf(found.specifier)]
    return owner === undefined || owner === room || WITH_ALL_PACKAGES.has(room)
      ? []
      : [`${where}, which belongs to ${owner}`]
  }
  const target = roomOf(resolve(found))
  if (target === undefined) return [`${where}, which belongs to no room`]
  const allowed = target === room || MAY_IMPORT[room]?.includes(target) === true
  return allowed ? [] : [`${where}: ${room} may not import ${target}`]
}

/** The room of a file; undefined if it belongs to none. */
export const roomOf = (path: string): string | undefined => {
  // Longest name first, so that cli/import does not match cli.
  return Object.keys(MAY_IMPORT)
    .toSorted((a, b) => b.length - a.length)
    .find((room) => path === room || path.startsWith(`${room}/`))
}

const packageOf = (specifier: string): string => {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

const resolve = ({ from, specifier }: ImportStatement): string => {
  return posix.join(posix.dirname(from), specifier)
}

/**
 * Finds at least one circle of imports, if there are any. Imports of types count: such circles are
 * as hard to read.
 */
const findCircles = (imports: readonly ImportStatement[]): string[] => {
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
