import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { replaceUnstorable } from '../../contract/check-body.ts'
import { seeded } from '../support/property-seed.ts'

describe('replaceUnstorable', () => {
  const replaced: Record<string, [given: JsonValue, expected: JsonValue]> = {
    'U+0000': ['a\0b\0', 'a\u{FFFD}b\u{FFFD}'],
    'a high surrogate on its own': ['a\uD83D', 'a\u{FFFD}'],
    'a low surrogate on its own': ['\uDE00a', '\u{FFFD}a'],
    'surrogates the wrong way round': ['\uDE00\uD83D', '\u{FFFD}\u{FFFD}'],
    'text in arrays and objects': [{ a: [1, { b: '\0' }] }, { a: [1, { b: '\u{FFFD}' }] }],
    keys: [
      { 'a\0': 1, b: { '\uD800': 2 } },
      { 'a\u{FFFD}': 1, b: { '\u{FFFD}': 2 } },
    ],
  }
  it('replaces characters that Postgres does not accept', () => {
    for (const [what, [given, expected]] of Object.entries(replaced))
      assert.deepEqual(replaceUnstorable(given), expected, what)
  })

  it('keeps both members if two keys become equal, and renames no storable key', () => {
    const given = { '\0': 1, '\uD800': 2, '\u{FFFD}2': 3, '\u{FFFD}': 4, '\u{FFFD}\u{FFFD}2': 5, other: 6 }
    assert.deepEqual(replaceUnstorable(given), {
      '\u{FFFD}2': 3,
      '\u{FFFD}': 4,
      '\u{FFFD}\u{FFFD}2': 5,
      other: 6,
      '\u{FFFD}\u{FFFD}3': 1,
      '\u{FFFD}\u{FFFD}4': 2,
    })
  })

  // Trying all numbers for each key would exceed the time of a test.
  it('takes linear time when all keys become equal', () => {
    // 65,536 keys of two lone high surrogates: no two of them are alike, and none makes a pair.
    const halves = Array.from({ length: 256 }, (_, index) => String.fromCharCode(0xd800 + index))
    const keys = halves.flatMap((first) => halves.map((second) => first + second))
    const result = replaceUnstorable(Object.fromEntries(keys.map((key) => [key, 1])))
    assert.equal(Object.keys(result).length, keys.length)
  })

  it('makes any value well-formed and free of U+0000, and keeps the number of members', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '\0', '\uD83D', '\uDE00', '\u{FFFD}', '2', 'é'), maxLength: 4 })
    const value = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        text,
        fc.constantFrom<JsonValue[]>(1, null, true),
        fc.array(tie('value'), { maxLength: 4 }),
        fc
          .array(fc.tuple(fc.oneof(text, fc.constant('__proto__')), tie('value')), { maxLength: 6 })
          .map((members): JsonObject => Object.fromEntries(members)),
      ),
    })).value
    fc.assert(
      fc.property(value, (given) => {
        const before = JSON.stringify(given)
        const result = replaceUnstorable(given)
        assert.equal(JSON.stringify(given), before)
        for (const found of texts(result)) assert.ok(found.isWellFormed() && !found.includes('\0'))
        assert.equal(texts(result).length, texts(given).length)
        assert.equal(JSON.stringify(JSON.parse(JSON.stringify(result))), JSON.stringify(result))
        assert.equal(replaceUnstorable(result), result)
      }),
      seeded({ numRuns: 500 }),
    )
  })
})

/** All strings and keys of a value. */
const texts = (value: JsonValue): string[] => {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(texts)
  return isJsonObject(value) ? Object.entries(value).flatMap(([key, member]) => [key, ...texts(member)]) : []
}
