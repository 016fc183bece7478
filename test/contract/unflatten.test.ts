import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { unflatten } from '../../contract/unflatten.ts'
import { seeded } from '../support/property-seed.ts'

describe('unflatten', () => {
  it('keeps a key of millions of segments', () => {
    const longest = `${'a.'.repeat(2_500_000)}a`
    assert.deepEqual(unflatten({ [longest]: 1 }), { [longest]: 1 })
  })

  // A copy for each key would exceed the time of a test.
  it('copies an object once, for any number of keys', () => {
    const keys = Array.from({ length: 50_000 }, (_, index) => `k${index}`)
    const a = Object.fromEntries(keys.map((key) => [key, 1]))
    const result = unflatten({ a, ...Object.fromEntries(keys.map((key) => [`a.x${key}`, 2])) })
    assert.equal(Object.keys(result['a'] as JsonObject).length, 100_000)
  })
})

describe('unflatten, for any object', () => {
  const holds = (check: (object: JsonObject) => void): void =>
    fc.assert(fc.property(objects, check), seeded({ numRuns: 300 }))

  it('does not depend on the order of the keys', () => {
    holds((object) => {
      const other = fromEntries(Object.entries(object).toReversed())
      assert.equal(sorted(unflatten(object)), sorted(unflatten(other)))
    })
  })

  it('gives the same result as making an object of each key and merging the objects in turn', () => {
    holds((object) => assert.equal(sorted(unflatten(object)), sorted(merged(object))))
  })

  it('loses nothing, adds nothing, and does not change its own result', () => {
    holds((object) => {
      const once = unflatten(object)
      assert.deepEqual(leaves(once), leaves(object))
      assert.equal(sorted(unflatten(once)), sorted(once))
    })
  })

  it('does not change $-keys, the given object or prototypes', () => {
    const known = Object.getOwnPropertyNames(Object.prototype)
    const dollarMembers = (holder: JsonObject) =>
      new Map(Object.entries(holder).filter(([name]) => name.startsWith('$')))
    holds((object) => {
      const before = JSON.stringify(object)
      const result = unflatten(object)
      assert.equal(JSON.stringify(object), before)
      assert.deepEqual(Object.getOwnPropertyNames(Object.prototype), known)
      assert.deepEqual(dollarMembers(result), dollarMembers(object))
    })
  })
})

const segment = fc.constantFrom('a', 'b', 'c', '0', '', '$', '$a', '__proto__', 'constructor', 'toString', '\u{1F600}')
const few = fc.array(segment, { minLength: 1, maxLength: 4 })
const many = fc.integer({ min: 31, max: 34 }).map((count) => Array.from({ length: count }, () => 'a'))
const key = fc.oneof({ weight: 15, arbitrary: few }, { weight: 1, arbitrary: many }).map((names) => names.join('.'))
const scalar: fc.Arbitrary<JsonValue> = fc.constantFrom<JsonValue[]>(1, 2, 'text', null, true, [], [{ 'a.b': 1 }])
// Object.fromEntries makes `__proto__` a member like any other. An assignment would not.
const fromEntries = (entries: [string, JsonValue][]): JsonObject => Object.fromEntries(entries)
const objects: fc.Arbitrary<JsonObject> = fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
  value: fc.oneof({ depthSize: 'small', withCrossShrink: true }, scalar, tie('object')),
  object: fc.array(fc.tuple(key, tie('value')), { maxLength: 6 }).map(fromEntries),
})).object

const MAX_SEGMENTS = 32
const NEVER_SPLIT_AT = ['', '__proto__', 'constructor', 'prototype']

/** The rules again, in the plainest form. */
const merged = (object: JsonObject): JsonObject => {
  const isDotted = (name: string): boolean => {
    const parts = name.split('.')
    const isSplit = parts.length > 1 && parts.length <= MAX_SEGMENTS && !name.startsWith('$')
    return isSplit && !parts.some((part) => NEVER_SPLIT_AT.includes(part))
  }
  const dotted = Object.keys(object).filter(isDotted)
  dotted.sort((a, b) => a.split('.').length - b.split('.').length || (a < b ? -1 : 1))
  let result = fromEntries(Object.entries(object).filter(([name]) => !isDotted(name)))
  for (const name of dotted) {
    const value = object[name] as JsonValue
    const nested = name.split('.').reduceRight<JsonValue>((inner, part) => fromEntries([[part, inner]]), value)
    result = both(result, nested) ?? { ...result, [name]: value }
  }
  return result
}

/** Merges two values for one place; undefined if they collide. */
const both = (one: JsonValue, other: JsonValue): JsonObject | undefined => {
  if (!isJsonObject(one) || !isJsonObject(other)) return undefined
  const members = new Map(Object.entries(one))
  for (const [name, member] of Object.entries(other)) {
    const value = members.has(name) ? both(members.get(name)!, member) : member
    if (value === undefined) return undefined
    members.set(name, value)
  }
  return fromEntries([...members])
}

/**
 * Every value that is not an object, with its path. The path is the same for dotted and nested
 * keys.
 */
const leaves = (value: JsonValue, path = ''): string[] => {
  if (!isJsonObject(value)) return [`${path} = ${JSON.stringify(value)}`]
  return Object.entries(value)
    .flatMap(([name, member]) => leaves(member, path === '' ? `/${name}` : `${path}.${name}`))
    .toSorted()
}

/** The JSON text with sorted keys. */
const sorted = (value: JsonValue): string => {
  if (Array.isArray(value)) return `[${value.map(sorted).join()}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${sorted(member)}`)
  return `{${members.toSorted().join()}}`
}
