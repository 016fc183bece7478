import * as v from 'valibot'
import type { JsonValue } from './json.ts'
import { MAX_REPORTED_PROBLEMS } from './limits.ts'
import { type IgnoredPart, findIgnoredParts } from './ignored-parts.ts'

/**
 * A problem of a body. The message says what was expected at the path, and never quotes a value.
 */
export type Problem = { message: string; path: string }

/**
 * Returns the value as the schema outputs it, or its problems, `most` at most. A strict check
 * also reports parts without an effect.
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
export const shownPath = (path: string): string =>
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
