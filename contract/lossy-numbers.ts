/**
 * Finds every number that JavaScript might not keep: 16 digits in a row, or a fraction with an
 * exponent. Fifteen digits always fit. A number within a string matches only after a space, so ids
 * and hashes do not match. JSON.parse itself makes a number infinite that is too large.
 */
const DOUBTFUL_NUMBER = /(?:^|[[,: \t\r\n])-?(?:\d{16}|\d+\.\d+[eE])/

/** JSON has no infinite numbers, but JSON.parse reads this as one. */
const INFINITE = '1e999'

/**
 * The same valid JSON text with an infinite number in place of every integer that JavaScript would
 * change. The reviver of JSON.parse knows the source of a number, too, but V8 takes many times as
 * long with one: a single large body would block a process on Deno for a second.
 */
export const markLossyNumbers = (text: string): string => {
  if (!DOUBTFUL_NUMBER.test(text)) return text
  let result = ''
  let taken = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = closingQuote(text, at)
    } else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      NUMBER.lastIndex = at
      NUMBER.test(text)
      if (isChanged(text.slice(at, NUMBER.lastIndex))) {
        result += text.slice(taken, at) + INFINITE
        taken = NUMBER.lastIndex
      }
      at = NUMBER.lastIndex - 1
    }
  }
  return taken === 0 ? text : result + text.slice(taken)
}

export const QUOTE = 0x22
const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39
const BACKSLASH = 0x5c

/** A number at the position `lastIndex`. */
export const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

export const closingQuote = (text: string, opening: number): number => {
  for (let quote = text.indexOf('"', opening + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let before = quote - 1
    while (text.charCodeAt(before) === BACKSLASH) before--
    if ((quote - before) % 2 === 1) return quote
  }
  return -1
}

/** JavaScript keeps every literal of at most this length. */
const ALWAYS_KEPT_DIGITS = 15

/** Whether JavaScript would change this integer. */
const isChanged = (literal: string): boolean => {
  if (literal.length <= ALWAYS_KEPT_DIGITS) return false
  const number = Number(literal)
  if (!Number.isFinite(number)) return false
  // JavaScript must write the number in its original form: 2^60 is a double, but is written as
  // 1152921504606847000.
  const written = String(number)
  if (written === literal) return false
  const given = toDecimal(literal)
  if (given.exponent < 0) return false
  const kept = toDecimal(written)
  return given.digits !== kept.digits || given.exponent !== kept.exponent
}

type Decimal = {
  /** Digits without leading or trailing zeros. */
  readonly digits: string
  /**
   * The power of ten by which the digits, read as an integer, are multiplied. Not negative for an
   * integer.
   */
  readonly exponent: number
}

/** The absolute value of a number in a form that is equal for all ways to write it. */
const toDecimal = (literal: string): Decimal => {
  const [significand = '', exponent = '0'] = literal.toLowerCase().split('e')
  const [integer = '', fraction = ''] = significand.replace('-', '').split('.')
  const digits = (integer + fraction).replace(/^0+/, '')
  // A loop, since /0+$/ takes quadratic time on a long run of zeros inside the digits.
  let end = digits.length
  while (digits[end - 1] === '0') end--
  if (end === 0) return { digits: '', exponent: 0 }
  return { digits: digits.slice(0, end), exponent: Number(exponent) - fraction.length + digits.length - end }
}
