import type { JsonValue } from './json.ts'
import { shownPath } from './problem.ts'
import { closingQuote, NUMBER, QUOTE, markLossyNumbers } from './lossy-numbers.ts'

export type JsonProblem = {
  /** Says what was expected and where. It never quotes the text. */
  readonly message: string
  /**
   * Keys and indices joined by dots, in the form of valibot's getDotPath; empty for the whole text.
   */
  readonly path: string
}

export type ParsedJson = { readonly ok: true; readonly value: JsonValue } | ({ readonly ok: false } & JsonProblem)

/**
 * Parses as JSON.parse does, but refuses a text that is nested deeper than `maxDepth`. A number
 * that JavaScript cannot keep becomes infinite, so that a caller that stores numbers can refuse it.
 * The time grows with the length of the text, and with nothing else.
 *
 * The scan knows positions, but costs several times as much as JSON.parse. It runs only on a text
 * with a problem. The errors come from the scan, since V8's quote the text and JavaScriptCore's
 * have no position.
 */
export const parseJsonText = (text: string, maxDepth: number): ParsedJson => {
  if (isDeeper(text, maxDepth)) return { ok: false, ...findProblem(text, maxDepth) }
  try {
    const value = JSON.parse(text) as JsonValue
    const kept = markLossyNumbers(text)
    return { ok: true, value: kept === text ? value : (JSON.parse(kept) as JsonValue) }
  } catch {
    return { ok: false, ...findProblem(text, maxDepth) }
  }
}

const COMMA = 0x2c
const COLON = 0x3a
const OPENING_BRACKET = 0x5b
const CLOSING_BRACKET = 0x5d
const OPENING_BRACE = 0x7b
const CLOSING_BRACE = 0x7d

/**
 * Counts brackets outside strings. The result is right for valid JSON and harmless for any other
 * text.
 */
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

type Cursor = {
  readonly text: string
  readonly maxDepth: number
  /** The position of the next character, or of the syntax error. */
  at: number
  /** Indices, and keys in the form of the text, with quotes and escapes. */
  readonly path: (string | number)[]
  isTooDeep: boolean
}

/** The first problem of the text. The scan recurses `maxDepth` levels at most. */
const findProblem = (text: string, maxDepth: number): JsonProblem => {
  const cursor: Cursor = { text, maxDepth, at: 0, path: [], isTooDeep: false }
  skipSpace(cursor)
  if (scanValue(cursor)) skipSpace(cursor)
  return cursor.isTooDeep
    ? { message: `The body must be nested at most ${maxDepth} levels deep`, path: describePath(cursor.path) }
    : { message: describeSyntaxError(cursor), path: '' }
}

/**
 * Each scan moves the cursor past its piece of the text and returns true. At an error it leaves the
 * cursor there and returns false.
 */
const scanValue = (cursor: Cursor): boolean => {
  switch (cursor.text.charCodeAt(cursor.at)) {
    case OPENING_BRACE:
      return scanContainer(cursor, CLOSING_BRACE)
    case OPENING_BRACKET:
      return scanContainer(cursor, CLOSING_BRACKET)
    case QUOTE:
      return scanString(cursor)
    default:
      return scanNumber(cursor) || scanWord(cursor)
  }
}

const scanContainer = (cursor: Cursor, closing: number): boolean => {
  const { text, maxDepth, path } = cursor
  cursor.isTooDeep = path.length >= maxDepth
  if (cursor.isTooDeep) return false
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

const BACKSLASH = 0x5c
const ESCAPE = /\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y

const scanString = (cursor: Cursor): boolean => {
  const { text } = cursor
  // A loop over characters: one expression for a whole string would keep a state for each character
  // of a large text.
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

const scanNumber = (cursor: Cursor): boolean => {
  NUMBER.lastIndex = cursor.at
  if (!NUMBER.test(cursor.text)) return false
  cursor.at = NUMBER.lastIndex
  return true
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
