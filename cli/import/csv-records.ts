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

export type CsvPlace = { readonly at: number; readonly line: number }

const START: CsvPlace = { at: 0, line: 1 }

/**
 * The records of RFC 4180, with any mixture of line ends. A record with a stray quote ends with the
 * line of this quote. A record with an open quote ends with the text.
 */
export const csvRecords = function* (text: string, delimiter: string, start: CsvPlace = START): Generator<CsvRecord> {
  const unquoted = new RegExp(`[^"\r\n${delimiter.replace(/[\\\]^-]/, '\\$&')}]*`, 'y')
  for (let { at, line } = start; at < text.length;) {
    const record = readRecord({ text, delimiter, unquoted }, at)
    const breaks = countBreaks(text.slice(at, record.end))
    const endsWithBreak = /[\r\n]/.test(text[record.end - 1]!)
    yield { ...record, start: at, lines: { from: line, to: line + breaks - (endsWithBreak ? 1 : 0) } }
    line += breaks
    at = record.end
  }
}

type CsvText = { readonly text: string; readonly delimiter: string; readonly unquoted: RegExp }

const readRecord = ({ text, delimiter, unquoted }: CsvText, start: number): Omit<CsvRecord, 'lines' | 'start'> => {
  const cells: string[] = []
  // A concatenated file can have a byte order mark before each part.
  for (let at = text[start] === '\ufeff' ? start + 1 : start; ; at++) {
    if (text[at] === '"') {
      const closing = closingQuote(text, at)
      if (closing === -1) return { cells, end: text.length, problem: 'open quote' }
      cells.push(text.slice(at + 1, closing).replaceAll('""', '"'))
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

const closingQuote = (text: string, opening: number): number => {
  let at = text.indexOf('"', opening + 1)
  while (at !== -1 && text[at + 1] === '"') at = text.indexOf('"', at + 2)
  return at
}

/** The place after the next line break, or the end of the text. */
export const lineEnd = (text: string, from: number): number => {
  LINE_BREAK.lastIndex = from
  return LINE_BREAK.test(text) ? LINE_BREAK.lastIndex : text.length
}

const LINE_BREAK = /\r\n|\n|\r/g
