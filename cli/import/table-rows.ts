import { type CsvForm, type CsvRecord, csvRecords, lineEnd, type CsvPlace } from './csv-records.ts'
import { isBlank, sample } from './delimiter.ts'
import type { Lines, Remark } from './lines.ts'

export type TableRow = {
  readonly lines: Lines
  /** The cells by the names of the columns, or the members of a record of JSON. */
  readonly cells: Readonly<Record<string, unknown>>
  /** The cells are the members of a record of JSON. */
  readonly isRecord?: boolean
  /** A doubt that a person should check before the row is sent. */
  readonly doubt?: string
}

/** A table whose header is read. */
type TableStart = {
  readonly text: string
  readonly form: CsvForm
  readonly header: CsvRecord
  readonly names: readonly string[]
  /** The places of further header rows, which survey tools write. */
  readonly further: ReadonlySet<number>
  readonly isLeftOut: (number: number) => boolean
  /** The number of the header among all records, from 1. */
  readonly number: number
}

/**
 * The lines after an open quote are rows if this share of their first records fits the header. Else
 * they are text within the quote.
 */
const MIN_FITTING = 0.9

export const skipped = (lines: Lines, why: string): Remark => ({ lines: [lines], reasons: [why], isSkipped: true })

export const rowsAfter = function* (table: TableStart): Generator<TableRow | Remark> {
  const { text, form, header } = table
  let number = table.number
  for (let next: CsvPlace | undefined = { at: header.end, line: header.lines.to + 1 }; next !== undefined;) {
    const records: Iterable<CsvRecord> = csvRecords(text, form, next)
    next = undefined
    for (const record of records) {
      number++
      if (record.problem !== 'open quote') yield rowOf(record, number, table)
      else {
        next = tableAfter(record, table)
        const { from, to } = record.lines
        yield { lines: [{ from, to: next ? from : to }], reasons: ['a quote is opened and never closed'] }
      }
    }
  }
}

const rowOf = (record: CsvRecord, number: number, table: TableStart): TableRow | Remark => {
  const { cells, lines, problem, start } = record
  const { names, header, further, form } = table
  if (table.isLeftOut(number)) return skipped(lines, 'left out by --skip-rows')
  if (isBlank(record)) return skipped(lines, 'blank')
  if (further.has(start)) return skipped(lines, 'a further row of the header')
  if (problem !== undefined)
    return {
      lines: [lines],
      reasons: ['malformed quotes: put a cell with quotes in quotes, and double each quote in it'],
    }
  if (cells.length === names.length && cells.every((cell, at) => cell.trim() === header.cells[at]!.trim()))
    return skipped(lines, 'a repeated header')
  if (!fitsHeader(record, names.length))
    return { lines: [lines], reasons: [`the row has ${cells.length} columns, the header ${names.length}`] }
  const isDoubtful = cells.some((cell) => swallows(cell, form.delimiter, names.length))
  return {
    lines,
    cells: Object.fromEntries(names.map((name, at) => [name, cells[at]])),
    ...(isDoubtful && {
      doubt: 'a cell has line breaks and as many delimiters as a row: check where its quote closes',
    }),
  }
}

/** Blank cells beyond the header do not count. */
export const fitsHeader = ({ cells, problem }: CsvRecord, width: number): boolean =>
  problem === undefined && cells.length >= width && cells.slice(width).every((cell) => cell.trim() === '')

const swallows = (cell: string, delimiter: string, width: number): boolean =>
  width > 1 && /[\r\n]/.test(cell) && countDelimiters(cell.split(delimiter)) >= width - 1

/** The number of delimiters between these cells, without those of prose: they precede a space. */
const countDelimiters = (cells: readonly string[]): number =>
  cells.slice(1).filter((cell) => !cell.startsWith(' ')).length

/** The line after the first line of the record, if a table begins there. */
const tableAfter = ({ start, lines }: CsvRecord, { text, form, names }: TableStart): CsvPlace | undefined => {
  const next = { at: lineEnd(text, start), line: lines.from + 1 }
  const records = sample(csvRecords(text, form, next))
  const fitting = records.filter(
    (record) => fitsHeader(record, names.length) && countDelimiters(record.cells) === record.cells.length - 1,
  )
  const isTable = names.length > 1 && records.length > 0 && fitting.length >= records.length * MIN_FITTING
  return isTable ? next : undefined
}
