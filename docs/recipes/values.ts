import { isPlaceholder } from 'feedback-insights-client/placeholders'

// Turns values of vendors into values that the service takes. A missing or useless value becomes
// undefined, so that a text without an author or rating is still stored.

/** The service's limit of an id, an email or the name of an account. */
const MOST_CHARACTERS = 512
const DECIMAL = /^[+-]?\d{1,15}(?:\.\d+)?$/
/** The service's limit of a rating. */
const MOST = 1e15
/** The form of an Idempotency-Key. */
const KEY = /^[!-~]{1,255}$/
/** Seconds or milliseconds since 1970. */
const COUNT = /^\d{9,13}(?:\.\d+)?$/
/** Seconds until the year 5138; larger numbers are milliseconds. */
const MOST_SECONDS = 1e11
const ISO = /^(\d{4}-\d{2}-\d{2})(?:[ t](\d{2}:\d{2})(:\d{2})?(?:[.,](\d+))?)? ?(?:z|utc|gmt|([+-]\d{2}):?(\d{2})?)?$/i
/** A month by its name and a year: `Date` would guess at anything else, such as 02/03/2015. */
const NAMED_MONTH = /\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b.*\b\d{4}\b/i
const ZONE = /(?:\bz|gmt|utc|\b[ecmp][sd]t|[+-]\d{2}:?\d{2})(?: \(.*\))?$/i

/** A text that is not blank, or a number as text. */
export const textOf = (value: unknown): string | undefined => {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value)
  return typeof value === 'string' && value.trim() !== '' ? value : undefined
}

/**
 * An id, an email or a name of one person, company or record. A placeholder, such as `N/A` or an
 * unfilled `{{ticket.requester.email}}`, would unite strangers.
 */
export const idOf = (value: unknown): string | undefined => {
  const id = textOf(value)?.trim() ?? ''
  return isPlaceholder(id) || id.length > MOST_CHARACTERS ? undefined : id
}

/** The Idempotency-Key of a delivery: the vendor's id, if it has the form of a key. */
export const keyOf = (value: unknown): string | undefined => {
  const id = idOf(value)
  return id !== undefined && KEY.test(id) ? id : undefined
}

/** A number, or a text that is a decimal number. */
export const numberOf = (value: unknown): number | undefined => {
  const isDecimal = typeof value === 'number' || (typeof value === 'string' && DECIMAL.test(value.trim()))
  const number = isDecimal ? Number(value) : Number.NaN
  return Math.abs(number) <= MOST ? number : undefined
}

/**
 * A time in UTC from seconds or milliseconds since 1970, or from a date. A date without a zone is
 * UTC. Undefined for 0 and the year 1, which mean "not set".
 */
export const timeOf = (value: unknown): string | undefined => {
  const text = textOf(value)?.trim() ?? ''
  if (COUNT.test(text) && Number(text) > 0)
    return isoOf(new Date(Number(text) < MOST_SECONDS ? Number(text) * 1_000 : Number(text)))
  const [, day, minutes = '00:00', seconds = ':00', fraction = '0', hours, rest = '00'] = ISO.exec(text) ?? []
  if (day !== undefined) {
    // `Date` makes 2 March of 30 February.
    if (isoOf(new Date(`${day}T00:00Z`))?.startsWith(day) !== true) return undefined
    const zone = hours === undefined ? 'Z' : `${hours}:${rest}`
    return isoOf(new Date(`${day}T${minutes}${seconds}.${fraction.slice(0, 3)}${zone}`))
  }
  return NAMED_MONTH.test(text) ? isoOf(new Date(ZONE.test(text) ? text : `${text} UTC`)) : undefined
}

const isoOf = (date: Date): string | undefined => {
  const year = date.getUTCFullYear()
  return year > 1 && year <= 9999 ? date.toISOString() : undefined
}

/** The host of a website, with or without `https://`. */
export const hostOf = (website: unknown): string | undefined => {
  const [authority = ''] = (idOf(website) ?? '').replace(/^[a-z][a-z\d+.-]*:\/\//i, '').split(/[/?#]/, 1)
  const host = authority
    .replace(/^.*@/, '')
    .replace(/:\d*$/, '')
    .replace(/\.+$/, '')
    .replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
    .replace(/^www\.(?=.*\.)/, '')
  return /^[^\s.]+(?:\.[^\s.]+)+$/.test(host) ? idOf(host) : undefined
}

/** The value if it is an object, else an empty object. */
export const objectOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}

/** The record of a delivery. @throws TypeError if the delivery has none. */
export const subjectOf = (value: unknown): Readonly<Record<string, unknown>> => {
  const subject = objectOf(value)
  if (Object.keys(subject).length === 0) throw new TypeError('The delivery has no record')
  return subject
}

/** The elements of a list as objects; an empty list for any other value. */
export const objectsOf = (value: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(value) ? value.map(objectOf) : []
