import { isJsonObject, setMember, type JsonObject, type JsonValue } from './json.ts'

/** Twenty bytes of key must not become a tree of any size. */
const MAX_SEGMENTS = 32

/** Harmless to us as keys, but not to everyone who will read the stored object. */
const NEVER_SPLIT_AT = new Set(['__proto__', 'constructor', 'prototype'])

type Dotted = {
  readonly key: string
  readonly segments: readonly string[]
}

/**
 * Turns dotted top-level keys into nested objects: `a.b` with a value becomes `a` containing `b` with that value.
 *
 * - Keys that begin with `$` stay as they are. Segments are always object keys, also when they are digits.
 * - Objects for the same place merge. Where two values want one place, the nested object that was given as such wins, then
 *   the dotted key with fewer segments, then the one first in the order of UTF-16 code units; so the order of the keys
 *   in `object` makes no difference. The loser stays whole, under its dotted key.
 * - A key stays dotted too if it has an empty segment, more than 32, or one that names a prototype.
 *
 * Never changes `object`, but the result may share parts with it, and is `object` itself if nothing is dotted.
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

/** The segments of a key that can be split; undefined for one that has to stay. */
const split = (key: string): string[] | undefined => {
  if (key.startsWith('$') || !key.includes('.')) return undefined
  const segments = key.split('.', MAX_SEGMENTS + 1)
  const splits = segments.every((segment) => segment !== '' && !NEVER_SPLIT_AT.has(segment))
  return splits && segments.length <= MAX_SEGMENTS ? segments : undefined
}

const byRank = (one: Dotted, other: Dotted): number => {
  return one.segments.length - other.segments.length || (one.key < other.key ? -1 : 1)
}

const nest = (segments: readonly string[], value: JsonValue): JsonObject => {
  return segments.reduceRight<JsonValue>((inner, segment) => ({ [segment]: inner }), value) as JsonObject
}

/** Whether everything in `addition` finds its place free, or an object on both sides. */
const fits = (target: JsonObject, addition: JsonObject): boolean => {
  return Object.keys(addition).every((key) => {
    if (!Object.hasOwn(target, key)) return true
    const held = valueOf(target, key)
    const added = valueOf(addition, key)
    return isJsonObject(held) && isJsonObject(added) && fits(held, added)
  })
}

/** Only for what fits. An object that was given is copied before it changes, once: else many keys would cost a copy each. */
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

/** Of a key that is known to be there. */
const valueOf = (object: JsonObject, key: string): JsonValue => {
  return object[key] as JsonValue
}

/** As a `shouldUnflatten…` flag asks for it. */
export const unflattenIf = (wanted: boolean | null | undefined, object: JsonObject): JsonObject =>
  wanted === true ? unflatten(object) : object
