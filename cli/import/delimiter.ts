import { type CsvForm, type CsvRecord, csvRecords } from './csv-records.ts'
import { ImportError } from './import-error.ts'

const DELIMITERS = [',', ';', '\t', '|']
/** The number of records that decide about the delimiter and the header. */
const SAMPLE = 50

/** The line by which Excel names the delimiter, if the text begins with such a line. */
export const sepLine = (text: string): RegExpExecArray | null =>
  /^\ufeff?"?sep=([^"\r\n])"?(?:\r\n|\n|\r|$)/i.exec(text)

export const parseDelimiter = (given: string | undefined): string | undefined => {
  const mark = given === 'tab' ? '\t' : given
  if (mark !== undefined && !/^[^"\r\n]$/.test(mark))
    throw new ImportError('--delimiter must be one character other than a quote, or the word tab.')
  return mark
}

/** The delimiter that gives the most records the same number of cells, at least two. */
export const findDelimiter = (text: string): string => {
  const [best] = DELIMITERS.map((mark, place) => {
    const records = sample(csvRecords(text, { delimiter: mark, hasBackslashes: false }))
    const widths = records.filter(({ problem }) => problem === undefined).map(({ cells }) => cells.length)
    const [width, count] = mostFrequent(widths.filter((cells) => cells > 1))
    return { mark, place, width, share: count / Math.max(records.length, 1) }
  }).sort((one, other) => other.share - one.share || other.width - one.width || one.place - other.place)
  return best!.mark
}

/** The form in which fewer records have malformed quotes: that of RFC 4180, or with backslashes. */
export const findForm = (text: string, delimiter: string): CsvForm => {
  const plain = { delimiter, hasBackslashes: false }
  const escaped = { delimiter, hasBackslashes: true }
  const malformed = (form: CsvForm): number =>
    csvRecords(text, form)
      .filter(({ problem }) => problem !== undefined)
      .toArray().length
  return text.includes('\\"') && malformed(escaped) < malformed(plain) ? escaped : plain
}

/** The first records that are not blank. */
export const sample = (records: Iterable<CsvRecord>): CsvRecord[] => {
  const found: CsvRecord[] = []
  for (const record of records) {
    if (!isBlank(record)) found.push(record)
    if (found.length === SAMPLE) break
  }
  return found
}

export const isBlank = ({ cells, problem }: CsvRecord): boolean =>
  problem === undefined && cells.every((cell) => cell.trim() === '')

export const mostFrequent = (numbers: readonly number[]): [number: number, count: number] => {
  const counts = [...Map.groupBy(numbers, (number) => number)].map(([number, all]) => [number, all.length] as const)
  const [[number, count] = [0, 0]] = counts.sort((one, other) => other[1] - one[1] || other[0] - one[0])
  return [number, count]
}
