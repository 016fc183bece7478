import { Buffer } from 'node:buffer'
import { isJsonObject, type JsonObject, type JsonValue } from './json.ts'
import { MAX_OBJECT_MEMBERS, MAX_REPORTED_PROBLEMS } from './limits.ts'
import { unflattenIf } from './unflatten.ts'

/** A member of a record whose value is a free object: any members with any names. */
export type FreeMember = {
  readonly name: string
  /** The member of the record that asks for unflattening. */
  readonly flag?: string
  /**
   * The most bytes of one member, name and value together. Given if each member is stored as
   * metadata.
   */
  readonly maxMemberBytes?: number
}

/**
 * The expected form of a number. The JSON reader makes a number infinite if JavaScript cannot keep
 * it.
 */
export const KEPT_NUMBER = 'a number that double precision keeps: finite, and unchanged if it is an integer'

/**
 * A part of a record that breaks a rule. `expected` ends a sentence that begins with the path and
 * "must be".
 */
export type Violation = { readonly path: readonly (string | number)[]; readonly expected: string }

/**
 * The violations in the free objects of a record. The bounds apply to the stored form, after
 * unflattening. The number of top-level members is also bounded in the sent form. A path is the
 * same in both forms, since dots join its parts.
 */
export const checkFreeMembers = (record: JsonObject, free: readonly FreeMember[]): Violation[] =>
  free.flatMap(({ name, flag, maxMemberBytes }) => {
    const given = record[name]
    if (!isJsonObject(given)) return []
    if (Object.keys(given).length > MAX_OBJECT_MEMBERS) return [tooManyMembers([name])]
    const stored = unflattenIf(flag !== undefined && record[flag] === true, given)
    const found: Violation[] = []
    collectViolations(stored, [name], found)
    if (maxMemberBytes !== undefined) found.push(...largeMembers(stored, name, maxMemberBytes))
    return found
  })

const tooManyMembers = (path: readonly (string | number)[]): Violation => ({
  path,
  expected: `an object of at most ${MAX_OBJECT_MEMBERS.toLocaleString('en')} members`,
})

/**
 * Collects the objects with too many members and the numbers that JavaScript cannot keep, up to the
 * number of problems that a response reports. The body reader has bounded the depth of this
 * recursion.
 */
const collectViolations = (value: JsonObject | JsonValue[], path: (string | number)[], found: Violation[]): void => {
  const isArray = Array.isArray(value)
  const keys = isArray ? undefined : Object.keys(value)
  if (keys !== undefined && keys.length > MAX_OBJECT_MEMBERS) found.push(tooManyMembers([...path]))
  const count = keys?.length ?? (value as JsonValue[]).length
  for (let index = 0; index < count && found.length < MAX_REPORTED_PROBLEMS; index++) {
    const key = keys?.[index] ?? index
    const inner = (value as JsonObject)[key] as JsonValue
    if (typeof inner === 'number' && !Number.isFinite(inner))
      found.push({ path: [...path, key], expected: KEPT_NUMBER })
    if (typeof inner !== 'object' || inner === null) continue
    path.push(key)
    collectViolations(inner, path, found)
    path.pop()
  }
}

const KIB = 1024
/** The most UTF-8 bytes of one character of a JavaScript string. */
const MAX_BYTES_OF_A_CHARACTER = 3

const largeMembers = (object: JsonObject, name: string, maxBytes: number): Violation[] => {
  // One text of the whole object is faster than a text of each member, and usually shows that no
  // member is large.
  if (JSON.stringify(object).length * MAX_BYTES_OF_A_CHARACTER <= maxBytes) return []
  return Object.keys(object)
    .filter((key) => jsonBytes(key) + COLON_BYTES + jsonBytes(object[key] as JsonValue) > maxBytes)
    .map((key) => ({ path: [name, key], expected: `at most ${maxBytes / KIB} KiB of JSON, with its name` }))
}

const COLON_BYTES = 1
const jsonBytes = (value: JsonValue): number => Buffer.byteLength(JSON.stringify(value))
