import { countBreaks, type Lines } from './lines.ts'

/** One record of a table. A malformed record has the cells that could be read. */
export type CsvRecord = {
  readonly cells: readonly string[]
  readonly lines: Lines
  /** The place of the record in the text, and the place of the next record. */
  readonly start: number
  readonly end: number
  readonly problem?: 'stray quote' | 'open quote'
}

/** How a text is divided into cells. `hasBackslashes`: a backslash stands before a quote in a cell, as in MySQL. */
export type CsvForm = { readonly delimiter: string; readonly hasBackslashes: boolean }

export type CsvPlace = { readonly at: number; readonly line: number }

const START: CsvPlace = { at: 0, line: 1 }

/**
 * The records of RFC 4180, with any mixture of line ends. A record with a stray quote ends with the
 * line of this quote. A record with an open quote ends with the text.
 */
export const csvRecords = function* (text: string, form: CsvForm, start: CsvPlace = START): Generator<CsvRecord> {
  const { delimiter } = form
  const unquoted = new RegExp(`[^"\r\n${delimiter.replace(/[\\\]^-]/, '\\$&')}]*`, 'y')
  for (let { at, line } = start; at < text.length;) {
    const record = readRecord({ text, ...form, unquoted }, at)
    const breaks = countBreaks(text.slice(at, record.end))
    const endsWithBreak = /[\r\n]/.test(text[record.end - 1]!)
    yield { ...record, start: at, lines: { from: line, to: line + breaks - (endsWithBreak ? 1 : 0) } }
    line += breaks
    at = record.end
  }
}

type CsvText = CsvForm & { readonly text: string; readonly unquoted: RegExp }

const readRecord = (csv: CsvText, start: number): Omit<CsvRecord, 'lines' | 'start'> => {
  const { text, delimiter, unquoted } = csv
  const cells: string[] = []
  // A concatenated file can have a byte order mark before each part.
  for (let at = text[start] === '\ufeff' ? start + 1 : start; ; at++) {
    // Excel keeps the zeros of ="007".
    if (text.startsWith('="', at)) at++
    if (text[at] === '"') {
      const closing = closingQuote(csv, at)
      if (closing === -1) return { cells, end: text.length, problem: 'open quote' }
      cells.push(textInQuotes(text.slice(at + 1, closing), csv))
      at = closing + 1
    } else {
      unquoted.lastIndex = at
      cells.push(unquoted.exec(text)![0])
      at = unquoted.lastIndex
    }
    if (text[at] === delimiter) continue
    const end = lineEnd(text, at)
    return /^[\r\n]?$/.test(text[at] ?? '') ? { cells, end } : { cells, end, problem: 'stray quote' }
  }
}

const closingQuote = ({ text, hasBackslashes }: CsvText, opening: number): number => {
  for (let at = text.indexOf('"', opening + 1); at !== -1;) {
    if (hasBackslashes && isEscaped(text, at)) at = text.indexOf('"', at + 1)
    else if (text[at + 1] === '"') at = text.indexOf('"', at + 2)
    else return at
  }
  return -1
}

const isEscaped = (text: string, at: number): boolean => {
  let before = at
  while (text[before - 1] === '\\') before--
  return (at - before) % 2 === 1
}

const FORMULA = /^="((?:[^"]|"")*)"$/

const textInQuotes = (written: string, { hasBackslashes }: CsvForm): string => {
  const text = hasBackslashes
    ? written.replaceAll(/\\([^\p{L}\p{N}])|""/gu, (_, escaped: string | undefined) => escaped ?? '"')
    : written.replaceAll('""', '"')
  return text.startsWith('="') ? (FORMULA.exec(text)?.[1]?.replaceAll('""', '"') ?? text) : text
}

/** The place after the next line break, or the end of the text. */
export const lineEnd = (text: string, from: number): number => {
  LINE_BREAK.lastIndex = from
  return LINE_BREAK.test(text) ? LINE_BREAK.lastIndex : text.length
}

const LINE_BREAK = /\r\n|\n|\r/g
