import * as v from 'valibot'
import { isJsonObject, type JsonObject, type JsonValue, setMember } from './json.ts'
import { MAX_REPORTED_PROBLEMS } from './limits.ts'
import { findIgnoredParts, type IgnoredPart } from './ignored-parts.ts'

const REPLACEMENT = '\u{FFFD}'

/**
 * The value with U+FFFD in place of every U+0000 and every lone surrogate, in strings and in keys:
 * Postgres stores neither. If keys become equal, each further key gets U+FFFD and a number
 * appended, so that all stay.
 *
 * Returns `value` itself if nothing has to be replaced, and never changes `value`. The body reader
 * has bounded the depth of this recursion.
 */
export const replaceUnstorable = <T extends JsonValue>(value: T): T => storableValue(value) as T

const storableValue = (value: JsonValue): JsonValue => {
  if (typeof value === 'string') return storableText(value)
  if (Array.isArray(value)) return storableArray(value)
  return isJsonObject(value) ? storableObject(value) : value
}

const storableText = (text: string): string => {
  if (text.isWellFormed() && !text.includes('\0')) return text
  return text.toWellFormed().replaceAll('\0', REPLACEMENT)
}

const storableArray = (array: JsonValue[]): JsonValue[] => {
  let result = array
  // An index loop, since `entries()` is far slower and this runs over every element of every body.
  for (let index = 0; index < array.length; index++) {
    const element = array[index] as JsonValue
    const stored = storableValue(element)
    if (stored === element) continue
    if (result === array) result = array.slice()
    result[index] = stored
  }
  return result
}

const storableObject = (object: JsonObject): JsonObject => {
  let result = object
  const renamed: string[] = []
  for (const key of Object.keys(object)) {
    const value = object[key] as JsonValue
    const stored = storableValue(value)
    if (storableText(key) !== key) renamed.push(key)
    if (stored === value) continue
    if (result === object) result = { ...object }
    setMember(result, key, stored)
  }
  return renamed.length === 0 ? result : rename(result, renamed)
}

/** Keys outside of `renamed` keep their names. The keys in `renamed` take free names. */
const rename = (object: JsonObject, renamed: readonly string[]): JsonObject => {
  const result: JsonObject = {}
  const unfit = new Set(renamed)
  for (const key of Object.keys(object)) {
    if (!unfit.has(key)) setMember(result, key, object[key] as JsonValue)
  }
  // The last number of each name. Without it, each of many equal keys would try all lower numbers.
  const taken = new Map<string, number>()
  for (const key of renamed) {
    const name = storableText(key)
    let free = name
    while (Object.hasOwn(result, free)) {
      const count = (taken.get(name) ?? 1) + 1
      taken.set(name, count)
      free = `${name}${REPLACEMENT}${count}`
    }
    setMember(result, free, object[key] as JsonValue)
  }
  return result
}

/**
 * A problem of a body. The message says what was expected at the path, and never quotes a value.
 */
export type Problem = { message: string; path: string }

/**
 * Returns the output of the schema, or at most `most` problems. `isStrict`: also reports the parts
 * that `handling=strict` refuses.
 */
export const checkBody = <S extends v.GenericSchema>(
  schema: S,
  value: JsonValue,
  { isStrict = false, most = MAX_REPORTED_PROBLEMS }: { isStrict?: boolean; most?: number | undefined } = {},
): { valid: v.InferOutput<S> } | { problems: Problem[] } => {
  const result = v.safeParse(schema, value, { abortEarly: most === 1 })
  const ignored = isStrict ? findIgnoredParts(schema, value).map(problemOfIgnored) : []
  if (result.success && ignored.length === 0) return { valid: result.output }
  const issues = result.success ? [] : result.issues.slice(0, most).map(problemOf)
  return { problems: [...issues, ...ignored].slice(0, most) }
}

const problemOfIgnored = ({ path: at, fault }: IgnoredPart): Problem => {
  const path = shownPath(at)
  return { path, message: `${path} ${fault}` }
}

/** A path contains keys of the client, of any length. */
const MAX_PATH_CHARACTERS = 200

/** A path for a message: cut if it is long. */
const shownPath = (path: string): string =>
  path.length <= MAX_PATH_CHARACTERS ? path : `${path.slice(0, MAX_PATH_CHARACTERS).toWellFormed()}…`

/**
 * The message of an issue for a missing member. Every other message ends a sentence that begins
 * with the path and "must be".
 */
export const MISSING = 'missing'

const problemOf = (issue: v.BaseIssue<unknown>): Problem => {
  const path = shownPath(v.getDotPath(issue) ?? '')
  const subject = path === '' ? 'The body' : path
  return { path, message: issue.message === MISSING ? `${subject} is required` : `${subject} must be ${issue.message}` }
}
