import type { TextFile } from './source-files.ts'

const MOST_FILE_LINES = 300
/** Lines of comments do not count. */
const MOST_FUNCTION_LINES = 60

/** One sentence for each SQL file and SQL function that is too long. */
export const findLongSql = (files: readonly TextFile[]): string[] =>
  files
    .filter(({ path }) => path.endsWith('.sql'))
    .flatMap(({ path, text }) => [
      ...tooLong(path, text.trimEnd().split('\n').length, MOST_FILE_LINES),
      ...functionsIn(text).flatMap(({ name, lines }) => tooLong(`${path}: ${name}`, lines, MOST_FUNCTION_LINES)),
    ])

const tooLong = (what: string, lines: number, most: number): string[] =>
  lines > most ? [`${what} has ${lines} lines, which is more than ${most}`] : []

const functionsIn = (text: string): { name: string; lines: number }[] =>
  [...text.matchAll(/^create (?:or replace )?(?:function|procedure) ([\w."]+)/gim)].map((begin) => ({
    name: begin[1] ?? '',
    lines: statementFrom(text.slice(begin.index))
      .split('\n')
      .filter((line) => !/^\s*--/.test(line)).length,
  }))

/**
 * A function up to the semicolon that ends it. Semicolons between dollar quotes belong to the body.
 */
const statementFrom = (text: string): string => {
  const outside = text.replace(/\$(\w*)\$[\s\S]*?\$\1\$/, (body) => body.replaceAll(';', ' '))
  const end = outside.indexOf(';')
  return text.slice(0, end === -1 ? undefined : end)
}
