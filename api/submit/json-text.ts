import type { JsonValue } from '../../contract/json.ts'
import { shownPath } from '../../contract/problem.ts'

export type JsonProblem = {
  /** A sentence that says what was expected and where, and never quotes the text. */
  readonly message: string
  /** Keys and indices joined by dots, as valibot's getDotPath joins them; empty for the text as a whole. */
  readonly path: string
}

export type ParsedJson = { readonly ok: true; readonly value: JsonValue } | ({ readonly ok: false } & JsonProblem)

/**
 * Finds every number that might not be kept: 16 digits in a row, an exponent of three digits, or a fraction with an exponent.
 * Fifteen digits always fit. A number within a string matches only after a space, so ids and hashes do not match.
 */
const DOUBTFUL_NUMBER = /(?:^|[[,: \t\r\n])-?(?:\d{16}|\d+(?:\.\d+[eE]|[eE]\+?\d{3}))/

/**
 * Parses as JSON.parse does, but refuses a text that is nested deeper than `maxDepth`, or that has a number which a JavaScript
 * number would change or make infinite. It takes time in proportion to the text's length, whatever the text is.
 *
 * The precise scan, which knows paths, costs several times as much as JSON.parse and runs only where it is needed. The errors
 * are those of the scan, since V8's quote the text and JavaScriptCore's have no position.
 */
export const parseJsonText = (text: string, maxDepth: number): ParsedJson => {
  if (isDeeper(text, maxDepth)) return refuse(findProblem(text, maxDepth))
  let value: JsonValue
  try {
    value = JSON.parse(text) as JsonValue
  } catch {
    return refuse(findProblem(text, maxDepth))
  }
  const problem = DOUBTFUL_NUMBER.test(text) ? findProblem(text, maxDepth) : undefined
  return problem ? refuse(problem) : { ok: true, value }
}

const refuse = (problem: JsonProblem | undefined): ParsedJson => ({
  ok: false,
  ...(problem ?? { message: 'The body must be valid JSON', path: '' }),
})

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPENING_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSING_BRACKET = 0x5d
const OPENING_BRACE = 0x7b
const CLOSING_BRACE = 0x7d

/** Looks at brackets outside strings only, so it is right for valid JSON and harmless for any other text. */
const isDeeper = (text: string, maxDepth: number): boolean => {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = closingQuote(text, at)
      if (at === -1) return false
    } else if (code === OPENING_BRACE || code === OPENING_BRACKET) {
      depth++
      if (depth > maxDepth) return true
    } else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) {
      depth--
    }
  }
  return false
}

const closingQuote = (text: string, opening: number): number => {
  for (let quote = text.indexOf('"', opening + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let before = quote - 1
    while (text.charCodeAt(before) === BACKSLASH) before--
    if ((quote - before) % 2 === 1) return quote
  }
  return -1
}

type Cursor = {
  readonly text: string
  readonly maxDepth: number
  /** The place of the next character; after a syntax error, the place of the error. */
  at: number
  /** Indices, and keys as the text has them, with quotes and escapes. */
  readonly path: (string | number)[]
  /** Set by every problem but a syntax error. */
  problem: JsonProblem | undefined
}

/** The first problem in the order of the text. The scan is recursive, to `maxDepth` levels at most. */
const findProblem = (text: string, maxDepth: number): JsonProblem | undefined => {
  const cursor: Cursor = { text, maxDepth, at: 0, path: [], problem: undefined }
  skipSpace(cursor)
  if (scanValue(cursor)) {
    skipSpace(cursor)
    if (cursor.at === text.length) return undefined
  }
  return cursor.problem ?? { message: describeSyntaxError(cursor), path: '' }
}

/** Each scan moves the cursor past its piece of the text and returns true, or leaves it at the error and returns false. */
const scanValue = (cursor: Cursor): boolean => {
  switch (cursor.text.charCodeAt(cursor.at)) {
    case OPENING_BRACE:
      return scanContainer(cursor, CLOSING_BRACE)
    case OPENING_BRACKET:
      return scanContainer(cursor, CLOSING_BRACKET)
    case QUOTE:
      return scanString(cursor)
    default:
      return scanNumber(cursor) || (!cursor.problem && scanWord(cursor))
  }
}

const scanContainer = (cursor: Cursor, closing: number): boolean => {
  const { text, maxDepth, path } = cursor
  if (path.length >= maxDepth) return refuseAt(cursor, () => `The body must be nested at most ${maxDepth} levels deep`)
  cursor.at++
  skipSpace(cursor)
  if (text.charCodeAt(cursor.at) === closing) {
    cursor.at++
    return true
  }
  for (let index = 0; ; index++) {
    const key = closing === CLOSING_BRACE ? scanKey(cursor) : index
    if (key === undefined) return false
    path.push(key)
    if (!scanValue(cursor)) return false
    path.pop()
    skipSpace(cursor)
    const next = text.charCodeAt(cursor.at)
    if (next !== COMMA && next !== closing) return false
    cursor.at++
    if (next === closing) return true
    skipSpace(cursor)
  }
}

const scanKey = (cursor: Cursor): string | undefined => {
  const start = cursor.at
  if (cursor.text.charCodeAt(start) !== QUOTE || !scanString(cursor)) return undefined
  const key = cursor.text.slice(start, cursor.at)
  skipSpace(cursor)
  if (cursor.text.charCodeAt(cursor.at) !== COLON) return undefined
  cursor.at++
  skipSpace(cursor)
  return key
}

const ESCAPE = /\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y

const scanString = (cursor: Cursor): boolean => {
  const { text } = cursor
  // It goes character by character, since one expression for a whole string would keep a state for each of megabytes.
  for (cursor.at++; cursor.at < text.length; cursor.at++) {
    const code = text.charCodeAt(cursor.at)
    if (code === BACKSLASH) {
      ESCAPE.lastIndex = cursor.at
      if (!ESCAPE.test(text)) return false
      cursor.at = ESCAPE.lastIndex - 1
    } else if (code === QUOTE) {
      cursor.at++
      return true
    } else if (code < 0x20) {
      return false
    }
  }
  return false
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

const scanNumber = (cursor: Cursor): boolean => {
  NUMBER.lastIndex = cursor.at
  if (!NUMBER.test(cursor.text)) return false
  const literal = cursor.text.slice(cursor.at, NUMBER.lastIndex)
  const expected = expectedOf(literal)
  if (expected) return refuseAt(cursor, (subject) => `${subject} must be ${expected}`)
  cursor.at += literal.length
  return true
}

/** A literal of so many characters is always kept, however many of them are digits. */
const ALWAYS_KEPT_DIGITS = 15

/** Says what a number that would not be kept should have been; undefined for one that is kept. */
const expectedOf = (literal: string): string | undefined => {
  const number = Number(literal)
  if (!Number.isFinite(number)) return 'a finite number'
  if (literal.length <= ALWAYS_KEPT_DIGITS) return undefined
  // A number is kept if JavaScript writes it as it was: 2^60 is a double, but is written as 1152921504606847000.
  const written = String(number)
  if (written === literal) return undefined
  const given = toDecimal(literal)
  if (given.exponent < 0) return undefined
  const kept = toDecimal(written)
  if (given.digits === kept.digits && given.exponent === kept.exponent) return undefined
  return 'an integer that a double-precision number keeps unchanged'
}

type Decimal = {
  /** They have no zeros at either end. */
  readonly digits: string
  /** The power of ten by which the digits, read as an integer, are multiplied. Not negative for an integer. */
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

const scanWord = (cursor: Cursor): boolean => {
  const word = ['true', 'false', 'null'].find((known) => cursor.text.startsWith(known, cursor.at))
  if (word === undefined) return false
  cursor.at += word.length
  return true
}

const skipSpace = (cursor: Cursor): void => {
  for (; ; cursor.at++) {
    const code = cursor.text.charCodeAt(cursor.at)
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return
  }
}

const refuseAt = (cursor: Cursor, describe: (subject: string) => string): false => {
  const path = describePath(cursor.path)
  cursor.problem = { message: describe(path === '' ? 'The body' : path), path }
  return false
}

const describePath = (path: readonly (string | number)[]): string =>
  shownPath(path.map((part) => (typeof part === 'string' ? (JSON.parse(part) as string) : part)).join('.'))

const describeSyntaxError = ({ text, at }: Cursor): string => {
  if (text.trim() === '') return 'The body must be JSON and not empty'
  if (at >= text.length) return 'The body must be valid JSON, which it is not at the end'
  let line = 1
  let start = 0
  for (let end = text.indexOf('\n'); end !== -1 && end < at; end = text.indexOf('\n', start)) {
    line++
    start = end + 1
  }
  return `The body must be valid JSON, which it is not at line ${line}, column ${at - start + 1}`
}
