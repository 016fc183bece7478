import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { ImportError } from './import-error.ts'

export type InputFile = {
  readonly path: string
  readonly format: 'csv' | 'json' | 'ndjson'
  readonly encoding: Encoding
  /** What separates the columns of a CSV file. */
  readonly delimiter: string
  /** SHA-256 of its content. */
  readonly hash: string
}

const ENCODINGS = ['utf-8', 'utf-16le', 'utf-16be', 'windows-1252'] as const
export type Encoding = (typeof ENCODINGS)[number]

const FORMATS: readonly (readonly [ending: RegExp, format: InputFile['format']])[] = [
  [/\.(?:csv|tsv)$/i, 'csv'],
  [/\.json$/i, 'json'],
  [/\.(?:ndjson|jsonl)$/i, 'ndjson'],
]
const DELIMITERS = [',', ';', '\t', '|']
const NAMES: Readonly<Record<string, string>> = { '\t': 'tabs', ',': 'commas', ';': 'semicolons', '|': 'bars' }

/**
 * Reads the whole file and finds its character encoding, unless that is given.
 *
 * @throws ImportError when there is no such file, or none that can be read
 */
export const findInputFile = async (
  path: string,
  given: { encoding?: string | undefined; delimiter?: string | undefined },
): Promise<InputFile> => {
  const [, format] = FORMATS.find(([ending]) => ending.test(path)) ?? []
  if (format === undefined) throw new ImportError(`${path} ends in none of .csv, .tsv, .json, .ndjson and .jsonl.`)
  if (!existsSync(path)) throw new ImportError(`There is no file ${path}.`)
  const { hash, found } = await readThrough(path)
  const encoding = given.encoding === undefined ? found : ENCODINGS.find((known) => known === given.encoding)
  if (encoding === undefined) throw new ImportError(`--encoding must be one of ${ENCODINGS.join(', ')}.`)
  const delimiter = delimiterOf(given.delimiter) ?? (await findDelimiter(path, encoding))
  return { path, format, encoding, delimiter, hash }
}

/** For a person to check. */
export const describeFile = ({ format, encoding, delimiter }: InputFile): string =>
  format === 'csv' ? `${encoding}, separated by ${NAMES[delimiter] ?? delimiter}` : `${encoding}, ${format}`

/** The text of a file in pieces, without a byte order mark. */
export const textOf = async function* ({
  path,
  encoding,
}: Pick<InputFile, 'path' | 'encoding'>): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding)
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    yield decoder.decode(chunk, { stream: true })
  }
  yield decoder.decode()
}

/**
 * Without a mark, valid UTF-8 is UTF-8, and everything else is Windows-1252, which has a
 * character for nearly each byte.
 */
const readThrough = async (path: string): Promise<{ hash: string; found: Encoding }> => {
  const hash = createHash('sha256')
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let marked: Encoding | undefined
  let isUtf8 = true
  let isFirst = true
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(chunk)
    if (isFirst) marked = markOf(chunk)
    isFirst = false
    isUtf8 &&= isValid(() => decoder.decode(chunk, { stream: true }))
  }
  isUtf8 &&= isValid(() => decoder.decode())
  return { hash: hash.digest('hex'), found: marked ?? (isUtf8 ? 'utf-8' : 'windows-1252') }
}

const markOf = ([first, second]: Buffer): Encoding | undefined => {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined
}

const isValid = (decode: () => string): boolean => {
  try {
    decode()
    return true
  } catch {
    return false
  }
}

const delimiterOf = (given: string | undefined): string | undefined => {
  const mark = given === 'tab' ? '\t' : given
  if (mark !== undefined && mark.length !== 1)
    throw new ImportError('--delimiter must be one character, or the word tab.')
  return mark
}

/** The one that the first line has most of outside quotes; of none a comma. */
const findDelimiter = async (path: string, encoding: Encoding): Promise<string> => {
  let line = ''
  for await (const piece of textOf({ path, encoding })) {
    line += piece
    if (/[\r\n]/.test(line.trimStart())) break
  }
  const [header = ''] = line.trimStart().split(/[\r\n]/)
  const unquoted = header.replace(/"[^"]*"/g, '')
  const counts = DELIMITERS.map((mark) => unquoted.split(mark).length)
  return DELIMITERS[counts.indexOf(Math.max(...counts))]!
}
