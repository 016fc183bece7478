import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync, existsSync, readdirSync } from 'node:fs'
import { join, sep } from 'node:path'
import { SOURCES } from '../../tools/source-files.ts'

/** A block of a document for a shell, and the documented answer below it. */
type ReadmeCommand = { readonly command: string; readonly answer: HttpAnswer | undefined }
type HttpAnswer = {
  readonly status: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

export type Terminal = {
  /** Returns the output of the command. Rejects if this command or an earlier one fails. */
  readonly run: (command: string) => Promise<string>
  readonly close: () => Promise<void>
}

const FENCED = /^```(\w*)\n([\s\S]*?)^```$/gm
/** An id or a time in a documented answer, which differs in each run. */
const ANY = '…'
const ID_OR_TIME = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$|^\d{4}-\d\d-\d\dT[\d:.]+Z$/
const COMMAND_MS = 200_000

/** The language of every fenced block, in the order of the text. */
export const blockLanguages = (markdown: string): string[] => fencedBlocks(markdown).map(({ language }) => language)

/** Every `sh` block, with the following `http` block, if any. */
export const readmeCommands = (markdown: string): ReadmeCommand[] => {
  const blocks = fencedBlocks(markdown)
  return blocks.flatMap(({ language, text }, index) => {
    const next = blocks[index + 1]
    const answer = next?.language === 'http' ? parseAnswer(next.text) : undefined
    return language === 'sh' ? [{ command: text.trimEnd(), answer }] : []
  })
}

/** Every script in a language. */
export const readmeScripts = (markdown: string, wanted: 'python' | 'ts' | 'sql'): string[] =>
  fencedBlocks(markdown).flatMap(({ language, text }) => (language === wanted ? [text] : []))

const fencedBlocks = (markdown: string): { language: string; text: string }[] =>
  [...markdown.matchAll(FENCED)].map(([, language = '', text = '']) => ({ language, text }))

/** The statements of a command for psql. */
export const statementsIn = (command: string): string[] =>
  [...command.matchAll(/<<'SQL'\n([\s\S]*?)\nSQL$/gm)].map(([, statement = '']) => statement)

/**
 * The rows of the tables with this first heading, each as its cells. A cell that is wholly code
 * loses its backticks.
 */
export const tableRows = (markdown: string, firstHeading: string): string[][] => {
  const rows: string[][] = []
  let isInside = false
  for (const line of markdown.split('\n')) {
    if (!line.startsWith('|')) isInside = false
    else if (isInside) rows.push(cellsOf(line))
    else if (cellsOf(line)[0] === firstHeading) isInside = true
  }
  return rows.filter(([first = '']) => !/^[-: ]+$/.test(first))
}

const cellsOf = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim().replace(/^`([^`]*)`$/, '$1'))

/** An HTTP answer in the form of `curl -i`. */
export const parseAnswer = (text: string): HttpAnswer => {
  const [answer = ''] = /^HTTP\/[\s\S]*/m.exec(text) ?? []
  const lines = answer.split(/\r?\n/)
  const end = lines.indexOf('')
  const headers = lines
    .slice(1, end)
    .map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()])
  return { status: lines[0] ?? '', headers: Object.fromEntries(headers), body: JSON.parse(lines.slice(end).join('\n')) }
}

/**
 * Fails if an answer differs from the documented one: in the status, the whole body, or a
 * documented header.
 */
export const assertDocumented = (documented: HttpAnswer, given: HttpAnswer): void => {
  const headers = Object.fromEntries(Object.keys(documented.headers).map((name) => [name, given.headers[name]]))
  const known = marked(documented, { ...given, headers })
  assert.deepEqual(known, documented)
}

/** The given answer, with `ANY` for each id or time that is documented as `ANY`. */
const marked = (documented: unknown, given: unknown): unknown => {
  if (documented === ANY) return typeof given === 'string' && ID_OR_TIME.test(given) ? ANY : given
  if (Array.isArray(given)) return given.map((item, index) => marked(memberOf(documented, index), item))
  if (typeof given !== 'object' || given === null) return given
  return Object.fromEntries(Object.entries(given).map(([key, item]) => [key, marked(memberOf(documented, key), item)]))
}

const memberOf = (value: unknown, key: string | number): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string | number, unknown>)[key] : undefined

/** Opens one shell for all commands, since they share variables. It ends at the first failure. */
export const openTerminal = ({ cwd, env }: { cwd: string; env: Readonly<Record<string, string>> }): Terminal => {
  const shell = spawn('bash', ['--noprofile', '--norc', '-euo', 'pipefail'], {
    cwd,
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let output = ''
  let changed = (): void => {}
  let ended: string | undefined
  shell.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    changed()
  })
  const closed = new Promise<void>((resolve) => {
    const end = (how: string): void => {
      ended = how
      changed()
      resolve()
    }
    shell.once('error', (error) => end(error.message))
    shell.once('close', (code, signal) => end(`ended with ${code ?? signal}`))
  })
  shell.stdin.on('error', () => {})

  let count = 0
  const run = (command: string): Promise<string> => {
    const mark = `--- done ${(count += 1)} ---`
    output = ''
    return new Promise<string>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`still running:\n${command}\n${output}`)), COMMAND_MS)
      changed = () => {
        const end = output.indexOf(`${mark}\n`)
        if (end === -1 && ended === undefined) return
        clearTimeout(late)
        if (end === -1) reject(new Error(`${ended}:\n${command}\n${output}`))
        else resolve(output.slice(0, end))
      }
      // A program that reads its input must not get the following commands.
      shell.stdin.write(`{ ${command}\n} </dev/null 2>&1\nprintf '%s\\n' '${mark}'\n`)
      changed()
    })
  }
  const close = async (): Promise<void> => {
    shell.stdin.end()
    await closed
  }
  return { run, close }
}

const firstLineOf = (text: string): string => text.split('\n', 1)[0]!
const QUERIES = readFileSync(new URL('../../docs/queries.md', import.meta.url), 'utf8')

/** The queries of docs/queries.md, with their titles. */
export const DOCUMENTED_QUERIES: readonly (readonly [title: string, query: string])[] = [
  ...QUERIES.split(/^## /m).flatMap((part) =>
    readmeScripts(part, 'sql').map((query) => [firstLineOf(part), query] as const),
  ),
  ...readmeCommands(QUERIES).flatMap(({ command }) =>
    statementsIn(command).map((query) => [`with psql: ${firstLineOf(query)}`, query] as const),
  ),
]

/** A Markdown file of the repository; `path` from its top, with slashes. */
export type Document = { readonly path: string; readonly text: string }

const TOP = ['README.md', 'SECURITY.md', 'CHANGELOG.md', 'CONTRIBUTING.md']
const FOLDERS = [...new Set(SOURCES.map((name) => name.split('/', 1)[0]!))]

/** All documents: at the top, in `docs/`, and in the rooms. */
export const readDocuments = (root: string): Document[] => {
  const inFolders = FOLDERS.filter((folder) => existsSync(join(root, folder))).flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name.split(sep).join('/')}`),
  )
  return [...TOP.filter((path) => existsSync(join(root, path))), ...inFolders.toSorted()].map((path) => ({
    path,
    text: readFileSync(join(root, path), 'utf8'),
  }))
}

/** The documents whose commands are run: the README and docs/. */
export const readManual = (root: string): Document[] =>
  readDocuments(root).filter(({ path }) => path === 'README.md' || path.startsWith('docs/'))
