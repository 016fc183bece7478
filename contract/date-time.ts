const DATE_TIME = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,100}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/

/**
 * True for a date-time of RFC 3339 that has an offset, exists on the calendar and lies in the years
 * 1 to 9999, as written and in UTC. Postgres refuses the year 0. A leap second is refused: neither
 * JavaScript nor Postgres can keep it. So is a fraction of more than 100 digits.
 */
export const isDateTime = (value: string): boolean => {
  const parts = DATE_TIME.exec(value)
  if (!parts) return false
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  if (year === 0 || hour > 23 || minute > 59 || second > 59) return false
  // Date.UTC reads the years 0 to 99 as 19xx, so `setUTCFullYear` sets the year.
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  if (date.getUTCFullYear() !== year || date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return false
  const offsetHours = Number(parts[9] ?? 0)
  const offsetMinutes = Number(parts[10] ?? 0)
  if (offsetHours > 23 || offsetMinutes > 59) return false
  const sign = parts[8] === '-' ? -1 : 1
  date.setUTCHours(hour - sign * offsetHours, minute - sign * offsetMinutes, second)
  return date.getUTCFullYear() >= 1 && date.getUTCFullYear() <= 9999
}

/**
 * True for the first day of the year 1. Programs in .NET and Go write it for an unset time.
 */
export const isUnset = (dateTime: string): boolean => dateTime.startsWith('0001-01-01')

/** Postgres keeps microseconds. It would round finer fractions, even into the next year. */
const BEYOND_MICROSECONDS = /(\.\d{6})\d+/

/**
 * A date-time in a form that Postgres keeps unchanged: cut to microseconds, and converted to UTC if
 * its offset is 16 hours or more. RFC 3339 allows offsets up to 23:59.
 */
export const postgresDateTime = (given: string): string => {
  const value = given.replace(BEYOND_MICROSECONDS, '$1')
  const [, offsetHours] = /[+-](\d{2}):\d{2}$/.exec(value) ?? []
  if (offsetHours === undefined || Number(offsetHours) < 16) return value
  const fraction = /\.\d+/.exec(value)?.[0] ?? ''
  const wholeSeconds = new Date(value.replace(fraction, '')).toISOString().slice(0, 19)
  return `${wholeSeconds}${fraction}Z`
}

const PARTS = /^(.{19})(?:\.(\d+))?(.+)$/

/** The microseconds since 1970 of a date-time that has no finer fraction. */
export const instantOf = (dateTime: string): number => {
  const [, seconds, fraction = '0', offset] = PARTS.exec(dateTime.toUpperCase())!
  return Date.parse(`${seconds}${offset}`) * 1_000 + Math.round(Number(`0.${fraction}`) * 1_000_000)
}

const DAY = /^\d{4}-\d{2}-\d{2}$/
const LAST_TIME = '9999-12-31T23:59:59.999Z'

/** The start of a day such as 2026-01-31, in UTC. Undefined for any other text. */
export const startOfDay = (text: string): string | undefined => {
  const start = `${text}T00:00:00Z`
  return DAY.test(text) && isDateTime(start) ? start : undefined
}

/** The start of the next day, in UTC: a span that ends there includes the day. */
export const endOfDay = (text: string): string | undefined => {
  const start = startOfDay(text)
  if (start === undefined) return undefined
  const next = new Date(start)
  next.setUTCDate(next.getUTCDate() + 1)
  return next.getUTCFullYear() > 9999 ? LAST_TIME : next.toISOString()
}
