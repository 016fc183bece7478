import { posix } from 'node:path'
import type { SourceFile } from './source-files.ts'

/**
 * Which part may import which. A part may always import from itself; `db/embedded` is part of `db`. The import of files is a
 * client: it speaks HTTP, and reaches neither Postgres nor Redis.
 */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'db/contract': [],
  'db/service-file.ts': [],
  'db/import': ['db/contract', 'db/service-file.ts'],
  db: ['db/contract', 'db/service-file.ts'],
  api: ['db/contract', 'db'],
  worker: ['db/contract', 'db'],
  'start.ts': ['db/contract', 'db', 'db/service-file.ts'],
  test: ['db/contract', 'db/service-file.ts', 'db/import', 'db', 'api', 'worker', 'start.ts'],
}

/** Packages that belong to one part; tests look at everything. */
export const ONLY_IN: Readonly<Record<string, string>> = {
  elysia: 'api',
  '@elysiajs/bearer': 'api',
  postgres: 'db',
  'csv-parse': 'db/import',
}

interface Import {
  readonly from: string
  readonly line: number
  readonly specifier: string
}

/** One sentence for each import that the tables above do not allow, and for each circle of imports. */
export function findImportViolations(files: readonly SourceFile[]): string[] {
  const imports = files.flatMap(readImports)
  return [...imports.flatMap(judge), ...findCircles(imports)]
}

function readImports({ path, text }: SourceFile): Import[] {
  // Blanked rather than cut, so that positions stay true.
  const code = text.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, (comment) => comment.replaceAll(/./g, ' '))
  const forms = [
    // What is imported can only be a name, a star or names in braces: an exported declaration never looks like this.
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

function judge(found: Import): string[] {
  const part = partOf(found.from)
  if (part === undefined) return [`${found.from} belongs to no part of the house`]
  const where = `${found.from}:${found.line} imports ${found.specifier}`
  if (!found.specifier.startsWith('.')) {
    const owner = ONLY_IN[packageOf(found.specifier)]
    return owner === undefined || owner === part || part === 'test' ? [] : [`${where}, which belongs to ${owner}`]
  }
  const target = partOf(resolve(found))
  if (target === undefined) return [`${where}, which belongs to no part of the house`]
  const allowed = target === part || MAY_IMPORT[part]?.includes(target) === true
  return allowed ? [] : [`${where}: ${part} may not import ${target}`]
}

function partOf(path: string): string | undefined {
  // The longest name comes first, so that db/contract is not taken for db.
  return Object.keys(MAY_IMPORT)
    .toSorted((one, other) => other.length - one.length)
    .find((part) => path === part || path.startsWith(`${part}/`))
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

function resolve({ from, specifier }: Import): string {
  return posix.join(posix.dirname(from), specifier)
}

/** Each circle once, whichever file it is entered by. Circles of types count: they are as hard to read. */
function findCircles(imports: readonly Import[]): string[] {
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

function describeCircle(files: readonly string[]): string {
  const first = files.indexOf(files.toSorted()[0] ?? '')
  const turned = [...files.slice(first), ...files.slice(0, first)]
  return `a circle of imports: ${[...turned, turned[0]].join(' → ')}`
}
