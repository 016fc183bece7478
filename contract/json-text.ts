import type { JsonValue } from './json.ts'

/** `problem` says what was expected. It never quotes the text. */
type ParsedJson = { readonly value: JsonValue } | { readonly problem: string }

/**
 * Parses as JSON.parse does, but refuses a text that is nested deeper than `maxDepth`. A number
 * that is too large, or an integer that JavaScript would change, becomes infinite, so that the
 * caller can refuse it. The time is proportional to the length of the text.
 *
 * The problem does not say where the text is malformed: V8's errors quote the text, and
 * JavaScriptCore's have no position.
 */
export const parseJsonText = (text: string, maxDepth: number): ParsedJson => {
  if (isDeeper(text, maxDepth)) return { problem: `The body must be nested at most ${maxDepth} levels deep` }
  try {
    const value = JSON.parse(text) as JsonValue
    const kept = markLossyNumbers(text)
    return { value: kept === text ? value : (JSON.parse(kept) as JsonValue) }
  } catch {
    return { problem: text.trim() === '' ? 'The body must be JSON and not empty' : 'The body must be valid JSON' }
  }
}

/**
 * Counts brackets outside strings. The result is right for valid JSON and harmless for any other
 * text.
 */
const isDeeper = (text: string, maxDepth: number): boolean => {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '"') {
      at = closingQuote(text, at)
      if (at === -1) return false
    } else if (character === '{' || character === '[') {
      depth++
      if (depth > maxDepth) return true
    } else if (character === '}' || character === ']') depth--
  }
  return false
}

/**
 * Finds every integer that JavaScript might change: 16 digits in a row, or a fraction with an
 * exponent. Fifteen digits always fit. The digits in most ids do not match, since they do not
 * follow white space, a comma, a colon or a bracket.
 */
const DOUBTFUL_NUMBER = /(?:^|[[,: \t\r\n])-?(?:\d{16}|\d+\.\d+[eE])/

/** JSON has no infinite numbers, but JSON.parse reads this as one. */
const INFINITE = '1e999'

/**
 * The same valid JSON text with an infinite number in place of every integer that JavaScript would
 * change. A reviver of JSON.parse also gets the source of each number. But with a reviver, V8 takes
 * many times as long: one large body would block a process on Deno for a second.
 */
const markLossyNumbers = (text: string): string => {
  if (!DOUBTFUL_NUMBER.test(text)) return text
  let result = ''
  let taken = 0
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '"') at = closingQuote(text, at)
    NUMBER.lastIndex = at
    if (!NUMBER.test(text)) continue
    if (isChanged(text.slice(at, NUMBER.lastIndex))) {
      result += text.slice(taken, at) + INFINITE
      taken = NUMBER.lastIndex
    }
    at = NUMBER.lastIndex - 1
  }
  return result + text.slice(taken)
}

/** A number at the position `lastIndex`. */
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

const closingQuote = (text: string, opening: number): number => {
  for (let quote = text.indexOf('"', opening + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let before = quote - 1
    while (text[before] === '\\') before--
    if ((quote - before) % 2 === 1) return quote
  }
  return -1
}

/** JavaScript keeps every integer with at most this many digits. */
const ALWAYS_KEPT_DIGITS = 15

/** Whether the literal is an integer that JavaScript would change. */
const isChanged = (literal: string): boolean => {
  if (literal.length <= ALWAYS_KEPT_DIGITS) return false
  const number = Number(literal)
  if (!Number.isFinite(number)) return false
  // JavaScript must write the number in its original form: 2^60 is a double, but is written as
  // 1152921504606847000.
  const given = significandOf(literal)
  return given.isInteger && given.digits !== significandOf(String(number)).digits
}

/** The digits without leading or trailing zeros, and whether the number is an integer. */
const significandOf = (literal: string): { digits: string; isInteger: boolean } => {
  const [significand = '', exponent = '0'] = literal.toLowerCase().split('e')
  const [integer = '', fraction = ''] = significand.replace('-', '').split('.')
  const digits = (integer + fraction).replace(/^0+/, '')
  // A loop, since /0+$/ takes quadratic time on a long run of zeros inside the digits.
  let end = digits.length
  while (digits[end - 1] === '0') end--
  return { digits: digits.slice(0, end), isInteger: Number(exponent) + digits.length - end >= fraction.length }
}
