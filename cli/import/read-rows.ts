import { pipeline, Readable } from 'node:stream'
import { type CsvError, parse } from 'csv-parse'
import { ImportError } from './import-error.ts'
import { type InputFile, textOf } from './input-file.ts'
import { type Element, elementsOf } from './json-elements.ts'

/**
 * A row of a CSV file by its columns, or a record of JSON by its members; `line` is where it
 * begins, from 1.
 */
export type Row = {
  readonly line: number
  readonly cells: Readonly<Record<string, unknown>>
  /** A record of JSON as it is written. */
  readonly text?: string
}
export type BadRow = { readonly line: number; readonly reasons: readonly string[] }

/** Larger than the largest body that the service takes. */
const MAX_ROW_BYTES = 16 * 1024 * 1024
/** After these errors the parser does not find the next row: the rest of the file would be lost. */
const BROKEN_OFF: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: 'a quote is opened and never closed',
  CSV_MAX_RECORD_SIZE: 'a row is too large, probably because a quote is not closed',
}

export const isBadRow = (row: object): row is BadRow => 'reasons' in row

/** @throws ImportError when the rest of the file cannot be read */
export const readRows = (file: InputFile): AsyncGenerator<Row | BadRow> =>
  file.format === 'csv' ? readCsv(file) : readRecords(file.format === 'json' ? readArray(file) : readLines(file))

/** Names of the columns of a CSV file. */
export const readColumns = async (file: InputFile): Promise<string[]> => {
  for await (const { record } of csvRecords(file)) {
    if (record !== undefined) return columnsOf(record, file)
  }
  throw new ImportError(`${file.path} has no header: the first line has to name the columns.`)
}

const columnsOf = (record: readonly string[], { path }: InputFile): string[] => {
  const columns = record.map((name, index) => name.trim() || `column ${index + 1}`)
  const double = columns.find((name, index) => columns.indexOf(name) !== index)
  if (double !== undefined) throw new ImportError(`${path} has two columns named ${double}.`)
  return columns
}

const readCsv = async function* (file: InputFile): AsyncGenerator<Row | BadRow> {
  let columns: string[] | undefined
  for await (const { record, line, bad } of csvRecords(file)) {
    if (bad !== undefined) yield { line, reasons: [bad] }
    else if (columns === undefined) columns = columnsOf(record, file)
    else if (record.length === columns.length) {
      const names = columns
      yield { line, cells: Object.fromEntries(record.map((cell, index) => [names[index] ?? '', cell])) }
    } else yield { line, reasons: [`the row has ${record.length} columns, the header ${columns.length}`] }
  }
}

type CsvRecord = { line: number; record: string[]; bad?: undefined } | { line: number; record?: undefined; bad: string }

const csvRecords = async function* (file: InputFile): AsyncGenerator<CsvRecord> {
  const { path, delimiter } = file
  const skipped: CsvError[] = []
  const parser = parse({
    bom: true,
    delimiter,
    info: true,
    max_record_size: MAX_ROW_BYTES,
    // A file that several programs wrote can mix them.
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    on_skip: (error) => {
      if (error) skipped.push(error)
      return undefined
    },
  })
  // A failure of the stream ends the parser, and a failure of the parser ends the loop below.
  pipeline(Readable.from(textOf(file)), parser, () => {})
  let counted = 0
  let lastGood = 0
  const badOnes = (): CsvRecord[] => {
    const broken = skipped.find(({ code }) => code in BROKEN_OFF)
    if (broken !== undefined) {
      const where = `${path} is malformed somewhere after line ${lastGood}`
      throw new ImportError(
        `${where}: ${BROKEN_OFF[broken.code]}. Correct it and start again; nothing of it was sent now.`,
      )
    }
    return skipped.splice(0).map(badRecord)
  }
  for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: { lines: number } }>) {
    yield* badOnes()
    // Within quotes the parser counts a line break of two characters twice.
    counted += countIn(record, /\r\n/g)
    lastGood = info.lines - counted
    yield { line: lastGood - countIn(record, /\r\n|\n|\r/g), record }
  }
  yield* badOnes()
}

const countIn = (cells: readonly string[], pattern: RegExp): number =>
  cells.reduce((sum, cell) => sum + (cell.match(pattern)?.length ?? 0), 0)

const badRecord = (error: CsvError): CsvRecord => ({
  line: Number((error as { lines?: unknown }).lines ?? 0),
  bad: 'malformed quotes: a quote within quotes is written twice',
})

const readRecords = async function* (written: AsyncIterable<Element>): AsyncGenerator<Row | BadRow> {
  for await (const { line, text } of written) {
    try {
      const value = JSON.parse(text) as unknown
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
      yield isObject ? { line, cells: value as Row['cells'], text } : { line, reasons: ['this is no JSON object'] }
    } catch {
      yield { line, reasons: ['this is not JSON'] }
    }
  }
}

/**
 * At the end of a piece a carriage return may be half of one. node:readline also takes U+2028 for
 * one, which JSON allows in texts.
 */
const LINE_END = /\r\n|\n|\r(?!$)/

const readLines = async function* (file: InputFile): AsyncGenerator<Element> {
  let line = 0
  let rest = ''
  for await (const piece of textOf(file)) {
    const lines = (rest + piece).split(LINE_END)
    rest = lines.pop()!
    for (const text of lines) {
      line++
      if (text.trim() !== '') yield { line, text }
    }
  }
  if (rest.trim() !== '') yield { line: line + 1, text: rest }
}

/** Such a file is read as a whole: who writes an array has had it in memory, too. */
const readArray = async function* (file: InputFile): AsyncGenerator<Element> {
  let text = ''
  for await (const piece of textOf(file)) text += piece
  const elements = elementsOf(text)
  if (elements === undefined) throw new ImportError(`${file.path} is no whole JSON array; nothing of it was sent now.`)
  yield* elements
}
