import { isJsonObject, setMember, type JsonObject, type JsonValue } from './json.ts'

/** The most segments of a key. They bound the depth of the nested objects. */
const MAX_SEGMENTS = 32

/**
 * An empty segment, or a segment that names a prototype. Prototype names are harmless here, but not
 * in every program that reads the stored object.
 */
const UNFIT_SEGMENT = /(?:^|\.)(?:__proto__|constructor|prototype)?(?:\.|$)/

type Dotted = {
  readonly key: string
  readonly segments: readonly string[]
}

/**
 * Turns dotted top-level keys into nested objects: `a.b` with a value becomes `a` containing `b`
 * with that value.
 *
 * - Keys that begin with `$` stay unchanged. Segments are always object keys, even digits.
 * - Objects at the same path merge. Other values conflict if their paths are equal, or if one path
 *   begins with the other. Of these values, the one without a dotted key wins, then the one with
 *   fewer segments. Keys with equally many segments never conflict, so the order of the keys in
 *   `object` does not matter. The losing value stays whole, under its dotted key.
 * - A key also stays dotted if it has an empty segment, more than 32 segments, or a segment that
 *   names a prototype.
 *
 * Never changes `object`. The result can share parts with it, or be `object` itself.
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
    const value = valueOf(object, key)
    if (!place(result, { segments, value }, copies)) setMember(result, key, value)
  }
  return result
}

/** The segments of a key; undefined for a key that stays dotted. */
const split = (key: string): string[] | undefined => {
  if (key.startsWith('$') || !key.includes('.') || UNFIT_SEGMENT.test(key)) return undefined
  const segments = key.split('.', MAX_SEGMENTS + 1)
  return segments.length <= MAX_SEGMENTS ? segments : undefined
}

const byRank = (a: Dotted, b: Dotted): number => a.segments.length - b.segments.length

/**
 * Puts a value at the path of its segments. Returns false and changes nothing if the value
 * conflicts with an existing one. Walks through existing objects, since to merge a new tree for
 * each key would cost several times as much.
 */
const place = (
  target: JsonObject,
  { segments, value }: { segments: readonly string[]; value: JsonValue },
  copies: Set<JsonObject>,
): boolean => {
  let existing = 0
  let innermost = target
  for (; existing < segments.length && Object.hasOwn(innermost, segments[existing]!); existing++) {
    const held = valueOf(innermost, segments[existing]!)
    if (!isJsonObject(held)) return false
    innermost = held
  }
  const isWhole = existing === segments.length
  if (isWhole && !(isJsonObject(value) && fits(innermost, value))) return false

  let parent = target
  for (let at = 0; at < existing; at++) parent = ownMember(parent, segments[at]!, copies)
  if (isWhole) merge(parent, value as JsonObject, copies)
  else setMember(parent, segments[existing]!, nest(segments, existing + 1, value))
  return true
}

/** `value` below the segments from `first` on. */
const nest = (segments: readonly string[], first: number, value: JsonValue): JsonValue => {
  let inner = value
  for (let at = segments.length - 1; at >= first; at--) {
    const outer: JsonObject = {}
    outer[segments[at]!] = inner
    inner = outer
  }
  return inner
}

/**
 * Whether `addition` can merge into `target`: every path that exists in both leads to an object in
 * both.
 */
const fits = (target: JsonObject, addition: JsonObject): boolean =>
  Object.keys(addition).every((key) => {
    if (!Object.hasOwn(target, key)) return true
    const held = valueOf(target, key)
    const added = valueOf(addition, key)
    return isJsonObject(held) && isJsonObject(added) && fits(held, added)
  })

/** Merges an `addition` that fits. */
const merge = (target: JsonObject, addition: JsonObject, copies: Set<JsonObject>): void => {
  for (const key of Object.keys(addition)) {
    const added = valueOf(addition, key)
    if (isJsonObject(added) && Object.hasOwn(target, key)) merge(ownMember(target, key, copies), added, copies)
    else setMember(target, key, added)
  }
}

/**
 * The object at a member of the result, copied before its first change. `copies` has the copies so
 * far.
 */
const ownMember = (target: JsonObject, key: string, copies: Set<JsonObject>): JsonObject => {
  const held = valueOf(target, key) as JsonObject
  if (copies.has(held)) return held
  const own = { ...held }
  copies.add(own)
  setMember(target, key, own)
  return own
}

/** The value of an existing key. */
const valueOf = (object: JsonObject, key: string): JsonValue => object[key] as JsonValue

/** Unflattens an object if a `shouldUnflatten…` flag asks for it. */
export const unflattenIf = (wanted: boolean | null | undefined, object: JsonObject): JsonObject =>
  wanted === true ? unflatten(object) : object
