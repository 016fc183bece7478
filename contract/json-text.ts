import type { JsonValue } from './json.ts'
import { shownPath } from './check-body.ts'
import { closingQuote, markLossyNumbers, NUMBER } from './lossy-numbers.ts'

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
  scan(cursor, SPACE)
  if (scanValue(cursor)) scan(cursor, SPACE)
  return cursor.isTooDeep
    ? { message: `The body must be nested at most ${maxDepth} levels deep`, path: describePath(cursor.path) }
    : { message: describeSyntaxError(cursor), path: '' }
}

/**
 * Each scan moves the cursor past its piece of the text and returns true. At an error it leaves the
 * cursor there and returns false.
 */
const scan = (cursor: Cursor, piece: RegExp): boolean => {
  piece.lastIndex = cursor.at
  if (!piece.test(cursor.text)) return false
  cursor.at = piece.lastIndex
  return true
}

const SPACE = /[ \n\r\t]*/y
const COLON = /:[ \n\r\t]*/y
const QUOTE = /"/y
const WORD = new RegExp(`true|false|null|${NUMBER.source}`, 'y')
/** JSON writes control characters as escapes. */
// oxlint-disable-next-line no-control-regex -- the pattern is about control characters
const CHARACTERS = /[^"\\\0-\x1f]+|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y

const scanValue = (cursor: Cursor): boolean => {
  switch (cursor.text.charAt(cursor.at)) {
    case '{':
      return scanContainer(cursor, '}')
    case '[':
      return scanContainer(cursor, ']')
    case '"':
      return scanString(cursor)
    default:
      return scan(cursor, WORD)
  }
}

const scanContainer = (cursor: Cursor, closing: '}' | ']'): boolean => {
  const { text, maxDepth, path } = cursor
  cursor.isTooDeep = path.length >= maxDepth
  if (cursor.isTooDeep) return false
  cursor.at++
  scan(cursor, SPACE)
  if (text[cursor.at] === closing) {
    cursor.at++
    return true
  }
  for (let index = 0; ; index++) {
    const key = closing === '}' ? scanKey(cursor) : index
    if (key === undefined) return false
    path.push(key)
    if (!scanValue(cursor)) return false
    path.pop()
    scan(cursor, SPACE)
    const next = text[cursor.at]
    if (next !== ',' && next !== closing) return false
    cursor.at++
    if (next === closing) return true
    scan(cursor, SPACE)
  }
}

const scanKey = (cursor: Cursor): string | undefined => {
  const start = cursor.at
  if (!scanString(cursor)) return undefined
  const key = cursor.text.slice(start, cursor.at)
  scan(cursor, SPACE)
  return scan(cursor, COLON) ? key : undefined
}

/** One pattern for a whole string would keep a state for each character of a large text. */
const scanString = (cursor: Cursor): boolean => {
  if (!scan(cursor, QUOTE)) return false
  while (scan(cursor, CHARACTERS));
  return scan(cursor, QUOTE)
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
