import { readFileSync } from 'node:fs'
import { decodeText } from './decode.ts'
import { ImportError } from './import-error.ts'
import { openJson } from './json-records.ts'
import { describeLines, type Remark } from './lines.ts'
import { type TableColumn, openTable, type TableOptions } from './table.ts'
import type { TableRow } from './table-rows.ts'

export type SourceFile = {
  readonly path: string
  /** The columns of a table; undefined for JSON. */
  readonly columns: readonly TableColumn[] | undefined
  /** The members of the first record of JSON. A member of a member has a name with a dot. */
  readonly members: () => readonly string[]
  /** How the file was read, for a person to check. */
  readonly description: string
  /** All rows of the file except the header, in their order. */
  readonly rows: () => Iterable<TableRow | Remark>
}

export type SourceOptions = TableOptions & { readonly encoding?: string | undefined }

const KNOWN_ENDING = /\.(?:csv|tsv|json|ndjson|jsonl)$/i
const TABLE_ENDING = /\.(?:csv|tsv)$/i
const DELIMITER_NAMES: Readonly<Record<string, string>> = {
  '\t': 'tabs',
  ',': 'commas',
  ';': 'semicolons',
  '|': 'bars',
}

/**
 * Opens the file at `path`. `shownAs`: the path as the caller wrote it, for messages.
 *
 * @throws ImportError when it cannot be read, or has no known name, encoding or form
 */
export const openSource = (
  { path, shownAs }: { path: string; shownAs: string },
  options: SourceOptions,
): SourceFile => {
  if (!KNOWN_ENDING.test(shownAs))
    throw new ImportError(
      `The name ${shownAs} must end in .csv, .tsv, .json, .ndjson or .jsonl. Rename the file, or convert it.`,
    )
  return openText(shownAs, readBytes(path), options)
}

/** Like `openSource`, from the bytes of a file. */
export const openText = (path: string, bytes: Uint8Array, options: SourceOptions): SourceFile => {
  const { text, encoding } = decodeText(bytes, path, options.encoding)
  if (!TABLE_ENDING.test(path)) {
    const { form, rows } = openJson(path, text)
    return { path, columns: undefined, description: `${encoding}, ${form}`, rows, members: () => membersOf(rows()) }
  }
  const { columns, form, header, rows } = openTable(path, text, options)
  const separated = `separated by ${DELIMITER_NAMES[form.delimiter] ?? form.delimiter}`
  const quoted = form.hasBackslashes ? ', quotes after a backslash' : ''
  return {
    path,
    columns,
    description: `${encoding}, ${separated}${quoted}, columns in ${describeLines([header])}`,
    rows,
    members: () => [],
  }
}

const membersOf = (rows: Iterable<TableRow | Remark>): string[] => {
  for (const row of rows) if ('cells' in row) return namesIn(row.cells)
  return []
}

const namesIn = (object: object): string[] =>
  Object.entries(object).flatMap(([name, value]: [string, unknown]) =>
    typeof value === 'object' && value !== null
      ? [name, ...Object.keys(value).map((inner) => `${name}.${inner}`)]
      : name,
  )

const readBytes = (path: string): Uint8Array => {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new ImportError(whyNot(path, (error as NodeJS.ErrnoException).code), { cause: error })
  }
}

const whyNot = (path: string, code = 'unknown error'): string => {
  if (code === 'ENOENT' || code === 'ENOTDIR') return `There is no file ${path}. Check the path.`
  if (code === 'EISDIR') return `${path} is a folder: name a file in it.`
  const hint =
    code === 'EACCES' ? 'Make it readable for this user.' : 'A file may have at most 2 GiB: split a larger one.'
  return `${path} cannot be read (${code}). ${hint}`
}
