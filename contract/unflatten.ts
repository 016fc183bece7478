import { isJsonObject, setMember, type JsonObject, type JsonValue } from './json.ts'

/** A key must not become a tree of any depth. */
const MAX_SEGMENTS = 32

/** These keys are harmless to us, but not to every program that will read the stored object. */
const NEVER_SPLIT_AT = new Set(['__proto__', 'constructor', 'prototype'])

type Dotted = {
  readonly key: string
  readonly segments: readonly string[]
}

/**
 * Turns dotted top-level keys into nested objects: `a.b` with a value becomes `a` containing `b` with that value.
 *
 * - Keys that begin with `$` stay as they are. Segments are always object keys, also when they are digits.
 * - Objects for the same place merge. Where two values want one place, an object that was given nested wins, then the dotted
 *   key with fewer segments, then the key that comes first in the order of UTF-16 code units. So the order of the keys in
 *   `object` makes no difference. The value that loses stays whole, under its dotted key.
 * - A key also stays dotted if it has an empty segment, more than 32 segments, or a segment that names a prototype.
 *
 * Never changes `object`. The result can share parts with it, and is `object` itself if no key is dotted.
 */
export const unflatten = (object: JsonObject): JsonObject => {
  const result: JsonObject = {}
  const dotted: Dotted[] = []
  for (const key of Object.keys(object)) {
    const segments = split(key)
    if (segments) dotted.push({ key, segments })
    else setMember(result, key, valueOf(object, key))
  }
  if (dotted.length === 0) return object

  const copies = new Set<JsonObject>()
  for (const { key, segments } of dotted.sort(byRank)) {
    const nested = nest(segments, valueOf(object, key))
    if (fits(result, nested)) merge(result, nested, copies)
    else setMember(result, key, valueOf(object, key))
  }
  return result
}

/** The segments of a key; undefined for a key that has to stay as it is. */
const split = (key: string): string[] | undefined => {
  if (key.startsWith('$') || !key.includes('.')) return undefined
  const segments = key.split('.', MAX_SEGMENTS + 1)
  const splits = segments.every((segment) => segment !== '' && !NEVER_SPLIT_AT.has(segment))
  return splits && segments.length <= MAX_SEGMENTS ? segments : undefined
}

const byRank = (one: Dotted, other: Dotted): number =>
  one.segments.length - other.segments.length || (one.key < other.key ? -1 : 1)

const nest = (segments: readonly string[], value: JsonValue): JsonObject =>
  segments.reduceRight<JsonValue>((inner, segment) => ({ [segment]: inner }), value) as JsonObject

/** Whether the place of every value in `addition` is free in `target`, or both sides have an object there. */
const fits = (target: JsonObject, addition: JsonObject): boolean =>
  Object.keys(addition).every((key) => {
    if (!Object.hasOwn(target, key)) return true
    const held = valueOf(target, key)
    const added = valueOf(addition, key)
    return isJsonObject(held) && isJsonObject(added) && fits(held, added)
  })

/** Merges an `addition` that fits. An object that was given is copied only once before it changes: else each key would cost a copy. */
const merge = (target: JsonObject, addition: JsonObject, copies: Set<JsonObject>): void => {
  for (const key of Object.keys(addition)) {
    const added = valueOf(addition, key)
    const held = Object.hasOwn(target, key) ? valueOf(target, key) : undefined
    if (!isJsonObject(held) || !isJsonObject(added)) {
      setMember(target, key, added)
      continue
    }
    const own = copies.has(held) ? held : { ...held }
    if (own !== held) {
      copies.add(own)
      setMember(target, key, own)
    }
    merge(own, added, copies)
  }
}

/** The value of a key that is known to be there. */
const valueOf = (object: JsonObject, key: string): JsonValue => object[key] as JsonValue

/** Unflattens an object if a `shouldUnflatten…` flag asks for it. */
export const unflattenIf = (wanted: boolean | null | undefined, object: JsonObject): JsonObject =>
  wanted === true ? unflatten(object) : object
