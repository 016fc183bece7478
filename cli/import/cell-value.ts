import { decimalNumber, parseExactly, writtenNumber } from '../../runtime/exact-json.ts'
import { isPlaceholder } from '../../contract/identity/placeholders.ts'
import type { Target } from './mapping.ts'

/** The separators to try if the mapping names none, the rarest in prose first. */
const SEPARATORS = ['|', ';', ',']

/**
 * The value that a cell, or a member of JSON, gives to a field; undefined if it gives none. A cell
 * that does not have the form of its type stays text: then the service refuses the record and names
 * the form.
 */
export const valueOf = (given: unknown, target: Target, isUtc: boolean): unknown => {
  if (given === undefined || (given === null && target.type !== 'any')) return undefined
  const text = textOf(given, target)
  return text === undefined ? given : ofText(text, target, isUtc)
}

/**
 * The text of a cell. A number or flag of JSON becomes text if an option compares it. A number also
 * becomes text for a field of text. For `any`, only a value that an option names becomes text.
 * Undefined for a value that keeps its type.
 */
const textOf = (given: unknown, { type, trueFor, values }: Target): string | undefined => {
  if (typeof given === 'string') return given
  const written = typeof given === 'boolean' ? String(given) : writtenNumber(given)
  if (written === undefined) return undefined
  if (type === 'any') return Object.hasOwn(values ?? {}, written) ? written : undefined
  const isAsked = trueFor !== undefined || values !== undefined
  const isKept = typeof given === 'boolean' || ['object', 'number', 'flag'].includes(type)
  return isAsked || !isKept ? written : undefined
}

const ofText = (written: string, { type, trueFor, separator, values = {} }: Target, isUtc: boolean): unknown => {
  const trimmed = written.trim()
  const cell = Object.hasOwn(values, trimmed) ? values[trimmed]! : written
  const inner = cell.trim()
  if (inner === '') return type === 'content' ? cell : undefined
  // The plan says which ids and names are placeholders.
  if (DATABASE_NULL.test(inner) && !['any', 'id', 'name'].includes(type)) return undefined
  switch (type) {
    case 'any':
    case 'text':
    case 'name':
    case 'prose':
    case 'content':
      return cell
    case 'id':
      return inner
    case 'number':
      return isNothing(inner) ? undefined : numberOf(unwrapped(inner))
    case 'flag':
      return flagOf(inner, trueFor)
    case 'words':
      return wordsOf(cell, separator)
    case 'object':
      return objectOf(cell)
    case 'time':
      return isNothing(inner) ? undefined : timeOf(unwrapped(inner), isUtc)
  }
}

const objectOf = (cell: string): unknown => {
  try {
    return parseExactly(cell)
  } catch {
    return cell
  }
}

/** A placeholder in a column of numbers or times. `(5)` may be a number of an accountant. */
const isNothing = (cell: string): boolean =>
  isPlaceholder(cell) && (!/\d|^(?:true|false)$/i.test(cell) || /^#DIV\/0!$/i.test(cell))

const numberOf = (cell: string): unknown => decimalNumber(cell) ?? cell

/**
 * The text in the marks that make a spreadsheet keep it as text: `="007"`, `"007"`, `'007`, and the
 * quotes of Outlook around an address.
 */
export const unwrapped = (given: string): string => {
  const text = given.trim()
  const [, quoted] = /^=?"((?:[^"]|"")*)"$/.exec(text) ?? []
  if (quoted !== undefined) return unwrapped(quoted.replaceAll('""', '"'))
  const [, marked] = /^'(.+?)'?$/s.exec(text) ?? []
  return marked === undefined ? text : unwrapped(marked)
}

const wordsOf = (cell: string, separator: string | undefined): string[] => {
  const array = separator === undefined && cell.trimStart().startsWith('[') ? objectOf(cell) : undefined
  if (Array.isArray(array) && array.every((word) => typeof word === 'string')) return array
  const mark = separator ?? SEPARATORS.find((known) => cell.includes(known)) ?? ','
  return cell.split(mark).flatMap((word) => word.trim() || [])
}

const flagOf = (cell: string, trueFor: readonly string[] | undefined): unknown => {
  if (trueFor) return trueFor.some((known) => known.trim().toLowerCase() === cell.toLowerCase())
  if (/^(?:true|yes|y|1)$/i.test(cell)) return true
  return /^(?:false|no|n|0)$/i.test(cell) ? false : cell
}

const DATABASE_NULL = /^\\{1,2}N$/

/** Seconds with 9 or 10 digits, milliseconds with 13 or microseconds with 16 since 1970. */
const COUNT = /^(\d{9,10})(?:(?:\.(\d+))?|(\d{3}|\d{6}))$/

/** A number of seconds since 1970 as a time of RFC 3339. */
const timeOfCount = (cell: string): string | undefined => {
  const [, seconds, fraction, digits = fraction] = COUNT.exec(cell) ?? []
  if (seconds === undefined) return undefined
  const time = new Date(Number(seconds) * 1_000).toISOString()
  return digits === undefined ? time.replace('.000', '') : time.replace('.000', `.${digits}`)
}

const TIME =
  /^(\d{4}-\d\d-\d\d)(?:[T ]\s*(\d\d:\d\d)(:\d\d(?:[.,]\d+)?)?)?\s*(?:(Z|UTC|GMT)|(?:UTC|GMT)?([+-]\d\d):?(\d\d)?)?$/i

/**
 * The time in the form of RFC 3339, also from a count since 1970. A text of another form stays unchanged. Without `isUtc`, so does
 * a time without an offset, and a day in any form.
 */
const timeOf = (cell: string, isUtc: boolean): string => {
  const counted = timeOfCount(cell)
  if (counted !== undefined) return counted
  const [whole, day, time, seconds = ':00', zulu, hours, minutes = '00'] = TIME.exec(cell) ?? []
  const offset = hours !== undefined ? `${hours}:${minutes}` : zulu !== undefined || isUtc ? 'Z' : undefined
  if (whole === undefined || offset === undefined || (time === undefined && !isUtc)) return cell
  return `${day}T${time ?? '00:00'}${seconds.replace(',', '.')}${offset}`
}
