import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { decodeText } from './decode.ts'
import { ImportError } from './import-error.ts'
import { openJson } from './json-records.ts'
import { describeLines, type Unsent } from './lines.ts'
import { type Column, openTable, type TableOptions } from './table.ts'
import type { Row } from './table-rows.ts'

export type SourceFile = {
  readonly path: string
  /** Of a table; undefined of JSON. */
  readonly columns: readonly Column[] | undefined
  /** Of the first record of JSON, those within others by names with dots. */
  readonly members: () => readonly string[]
  /** How it was read, for a person to check. */
  readonly description: string
  /** All lines of the file, but those of the header, in their order. */
  readonly rows: () => Iterable<Row | Unsent>
}

export type SourceOptions = TableOptions & {
  readonly encoding?: string | undefined
  /** Where a relative path begins. */
  readonly folder: string
}

const ENDING = /\.(?:csv|tsv|json|ndjson|jsonl)$/i
const IS_TABLE = /\.(?:csv|tsv)$/i
const NAMES: Readonly<Record<string, string>> = { '\t': 'tabs', ',': 'commas', ';': 'semicolons', '|': 'bars' }

/** @throws ImportError when there is no such file, or none that can be read */
export const openSource = (path: string, options: SourceOptions): SourceFile => {
  if (!ENDING.test(path)) throw new ImportError(`${path} ends in none of .csv, .tsv, .json, .ndjson and .jsonl.`)
  return openText(path, readBytes(path, options.folder), options)
}

/** The same, of bytes that were read. */
export const openText = (path: string, bytes: Uint8Array, options: Omit<SourceOptions, 'folder'>): SourceFile => {
  const { text, encoding } = decodeText(bytes, path, options.encoding)
  if (!IS_TABLE.test(path)) {
    const { form, rows } = openJson(path, text)
    return { path, columns: undefined, description: `${encoding}, ${form}`, rows, members: () => membersOf(rows()) }
  }
  const { columns, delimiter, header, rows } = openTable(path, text, options)
  const separated = `separated by ${NAMES[delimiter] ?? delimiter}, columns in ${describeLines([header])}`
  return { path, columns, description: `${encoding}, ${separated}`, rows, members: () => [] }
}

const membersOf = (rows: Iterable<Row | Unsent>): string[] => {
  for (const row of rows) if ('cells' in row) return namesIn(row.cells)
  return []
}

const namesIn = (object: object): string[] =>
  Object.entries(object).flatMap(([name, value]: [string, unknown]) =>
    typeof value === 'object' && value !== null
      ? [name, ...Object.keys(value).map((inner) => `${name}.${inner}`)]
      : name,
  )

const readBytes = (path: string, folder: string): Uint8Array => {
  const whole = resolve(folder, path)
  try {
    return readFileSync(whole)
  } catch (error) {
    throw new ImportError(whyNot(whole, (error as NodeJS.ErrnoException).code), { cause: error })
  }
}

const whyNot = (path: string, code = 'unknown error'): string => {
  if (code === 'ENOENT' || code === 'ENOTDIR') return `There is no file ${path}.`
  if (code === 'EISDIR') return `${path} is a folder: name a file in it.`
  const hint = code === 'EACCES' ? 'Let this user read it.' : 'A file may have at most 2 GiB: split a larger one.'
  return `${path} cannot be read (${code}). ${hint}`
}
