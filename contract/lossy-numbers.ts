/**
 * Finds every number that might not be kept: 16 digits in a row, or a fraction with an exponent.
 * Fifteen digits always fit. A number within a string matches only after a space, so ids and hashes
 * do not match. What is too large JSON.parse makes infinite by itself.
 */
const DOUBTFUL_NUMBER = /(?:^|[[,: \t\r\n])-?(?:\d{16}|\d+\.\d+[eE])/

/** JSON has no infinite numbers, but JSON.parse makes one of this. */
const INFINITE = '1e999'

/**
 * A text of valid JSON with an infinite number in the place of every integer that a JavaScript
 * number would change.
 */
export const withoutUnkept = (text: string): string => {
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

/** To be used from a place on. */
export const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

export const closingQuote = (text: string, opening: number): number => {
  for (let quote = text.indexOf('"', opening + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let before = quote - 1
    while (text.charCodeAt(before) === BACKSLASH) before--
    if ((quote - before) % 2 === 1) return quote
  }
  return -1
}

/** A literal of so many characters is always kept, however many of them are digits. */
const ALWAYS_KEPT_DIGITS = 15

/** Whether a number is an integer and JavaScript would make another one of it. */
const isChanged = (literal: string): boolean => {
  if (literal.length <= ALWAYS_KEPT_DIGITS) return false
  const number = Number(literal)
  if (!Number.isFinite(number)) return false
  // A number is kept if JavaScript writes it as it was: 2^60 is a double, but is written as
  // 1152921504606847000.
  const written = String(number)
  if (written === literal) return false
  const given = toDecimal(literal)
  if (given.exponent < 0) return false
  const kept = toDecimal(written)
  return given.digits !== kept.digits || given.exponent !== kept.exponent
}

type Decimal = {
  /** They have no zeros at either end. */
  readonly digits: string
  /**
   * The power of ten by which the digits, read as an integer, are multiplied. Not negative for an
   * integer.
   */
  readonly exponent: number
}

/** A number's absolute value in a form that does not depend on how the number is written. */
const toDecimal = (literal: string): Decimal => {
  const [significand = '', exponent = '0'] = literal.toLowerCase().split('e')
  const [integer = '', fraction = ''] = significand.replace('-', '').split('.')
  const digits = (integer + fraction).replace(/^0+/, '')
  // A loop, since /0+$/ takes quadratic time on a long run of zeros that is not at the end.
  let end = digits.length
  while (digits[end - 1] === '0') end--
  if (end === 0) return { digits: '', exponent: 0 }
  return { digits: digits.slice(0, end), exponent: Number(exponent) - fraction.length + digits.length - end }
}
