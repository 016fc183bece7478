import { type CsvForm, type CsvRecord, csvRecords } from './csv-records.ts'
import { findDelimiter, findForm, isBlank, mostFrequent, parseDelimiter, sample, sepLine } from './delimiter.ts'
import { ImportError } from './import-error.ts'
import type { Lines, Remark } from './lines.ts'
import { fitsHeader, type TableRow, rowsAfter, skipped } from './table-rows.ts'

/** `name` is unique: columns with equal titles are numbered. */
export type TableColumn = { readonly name: string; readonly title: string }

type Table = {
  readonly columns: readonly TableColumn[]
  readonly form: CsvForm
  readonly header: Lines
  /** Every line except those of the header belongs to a row or a remark. */
  readonly rows: () => Iterable<TableRow | Remark>
}

export type TableOptions = { readonly delimiter?: string | undefined; readonly skipRows?: string | undefined }

/** @throws ImportError when no header fits the rows, or an option does not have its form */
export const openTable = (path: string, text: string, options: TableOptions): Table => {
  const named = sepLine(text)
  const form = findForm(text, parseDelimiter(options.delimiter) ?? named?.[1] ?? findDelimiter(text))
  const isLeftOut = parseSkippedRows(options.skipRows)
  const before: Remark[] = []
  for (const record of csvRecords(text, form)) {
    const number = before.length + 1
    if (isLeftOut(number)) before.push(skipped(record.lines, 'left out by --skip-rows'))
    else if (isBlank(record)) before.push(skipped(record.lines, 'blank'))
    else if (number === 1 && named) before.push(skipped(record.lines, 'names the delimiter'))
    else {
      const following = sample(csvRecords(text, form, { at: record.end, line: record.lines.to + 1 }))
      checkHeader(path, record, following)
      const further = furtherHeaders(record, following)
      const columns = columnsOf(record, further[0])
      const start = { text, form, header: record, names: columns.map(({ name }) => name), isLeftOut, number }
      const furtherPlaces = new Set(further.map((row) => row.start))
      return {
        columns,
        form,
        header: record.lines,
        rows: function* () {
          yield* before
          yield* rowsAfter({ ...start, further: furtherPlaces })
        },
      }
    }
  }
  throw new ImportError(`${path} has no header: its first line must name the columns.`)
}

/** Reads row numbers: `2` means the first two, `2-3` the second and the third. */
const parseSkippedRows = (given: string | undefined): ((number: number) => boolean) => {
  const [, first, last] = /^(\d+)(?:-(\d+))?$/.exec(given ?? '0') ?? []
  if (first === undefined)
    throw new ImportError('--skip-rows must be a number of rows, such as 2, or a range of rows, such as 2-3.')
  const [from, to] = last === undefined ? [1, Number(first)] : [Number(first), Number(last)]
  return (number) => number >= from && number <= to
}

/** A title above the header looks like a header that fits no row. */
const checkHeader = (path: string, { cells, lines, problem }: CsvRecord, following: readonly CsvRecord[]): void => {
  const hint =
    'Leave out the rows above the header with --skip-rows, or give the delimiter of the columns with --delimiter.'
  if (problem !== undefined)
    throw new ImportError(`${path} has no header: the quotes in line ${lines.from} are malformed. ${hint}`)
  const named = cells.filter((cell) => cell.trim() !== '').length
  const isTitle =
    named === 1 && cells.length > 2 && following.some((record) => record.cells.every((cell) => cell.trim() !== ''))
  if (isTitle) throw new ImportError(`${path} names one of ${cells.length} columns in line ${lines.from}. ${hint}`)
  const [usual, count] = mostFrequent(following.map((record) => record.cells.length))
  if (usual <= cells.length || count < 2 || following.some((record) => fitsHeader(record, cells.length))) return
  throw new ImportError(
    `${path} has ${cells.length} columns in line ${lines.from}, and no row fits; most have ${usual}. ${hint}`,
  )
}

const QUALTRICS = /^\s*\{\s*"ImportId"\s*:/
const SURVEYMONKEY = ['Response', 'Open-Ended Response']

/** Records after the header that survey tools write as further header rows. */
const furtherHeaders = ({ cells }: CsvRecord, following: readonly CsvRecord[]): readonly CsvRecord[] => {
  const ids = following
    .slice(0, 3)
    .findIndex((record) => record.cells.length === cells.length && record.cells.every((cell) => QUALTRICS.test(cell)))
  if (ids !== -1) return following.slice(0, ids + 1)
  const [second] = following
  const isSecond =
    second?.cells.length === cells.length &&
    ['', ...SURVEYMONKEY].includes(second.cells[0]!.trim()) &&
    (/^respondent id$/i.test(cells[0]!.trim()) || second.cells.some((cell) => SURVEYMONKEY.includes(cell.trim())))
  return isSecond ? [second] : []
}

/**
 * A column without a title takes its title from the second header row, where SurveyMonkey writes the
 * choices of a question.
 */
const columnsOf = ({ cells }: CsvRecord, second: CsvRecord | undefined): TableColumn[] => {
  const names = new Set<string>()
  return cells.map((cell, at) => {
    const title = cell.trim() || second?.cells[at]?.trim() || `column ${at + 1}`
    let name = title
    for (let number = 2; names.has(name); number++) name = `${title} (${number})`
    names.add(name)
    return { name, title }
  })
}
