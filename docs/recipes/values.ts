// What vendors send, as the service takes it. What is no value comes out as undefined, so that a missing author or rating never
// costs what was said.

/** Texts that stand for nothing. The service refuses them as ids, since they would unite strangers. */
const PLACEHOLDERS = new Set([
  ...'null undefined none nil nan n/a na - -- ? unknown anonymous guest not_authenticated 0 true false'.split(' '),
  '[object object]',
])
/** Of an id, as of an email or a name. */
const MOST_CHARACTERS = 512
const DECIMAL = /^[+-]?\d{1,15}(?:\.\d+)?$/
const DIGITS = /^\d{9,13}$/
/** Seconds until the year 5138; larger numbers are milliseconds. */
const MOST_SECONDS = 1e11
const WITH_TIME = /\d{2}:\d{2}/
const WITH_ZONE = /(?:z|[+-]\d{2}(?::?\d{2})?|gmt|utc)$/i

/** A text that says something, or a number as text. */
export const textOf = (value: unknown): string | undefined => {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value)
  return typeof value === 'string' && value.trim() !== '' ? value : undefined
}

/** An id that means one person, company or record. */
export const idOf = (value: unknown): string | undefined => {
  const id = textOf(value)?.trim()
  return id === undefined || PLACEHOLDERS.has(id.toLowerCase()) || id.length > MOST_CHARACTERS ? undefined : id
}

/** A number, or a text that is a decimal number. */
export const numberOf = (value: unknown): number | undefined => {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  return typeof value === 'string' && DECIMAL.test(value.trim()) ? Number(value) : undefined
}

/** Seconds or milliseconds since 1970, or a date of any form that `Date` reads. Without a zone it is UTC. */
export const timeOf = (value: unknown): string | undefined => {
  const text = textOf(value)?.trim()
  if (text === undefined) return undefined
  const count = typeof value === 'number' || DIGITS.test(text) ? Number(text) : undefined
  if (count !== undefined) return isoOf(new Date(count < MOST_SECONDS ? count * 1_000 : count))
  return isoOf(new Date(WITH_TIME.test(text) && !WITH_ZONE.test(text) ? `${text.replace(' ', 'T')}Z` : text))
}

const isoOf = (date: Date): string | undefined => {
  const year = date.getUTCFullYear()
  // The year 1 and the year 0 mean "not set".
  return Number.isNaN(year) || year <= 1 || year > 9999 ? undefined : date.toISOString()
}

/** The host of a website, with or without `https://`. */
export const hostOf = (website: unknown): string | undefined => {
  const text = textOf(website)?.trim()
  if (text === undefined) return undefined
  const address = /^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `https://${text}`
  const host = URL.canParse(address) ? new URL(address).hostname : ''
  return host.includes('.') ? host.replace(/\.$/, '').replace(/^www\./, '') : undefined
}

/** An object, or one without members where there is none. */
export const objectOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
