import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { parseJsonText } from '../../contract/json-text.ts'
import { seeded } from '../support/property-seed.ts'

const MAX_DEPTH = 64

const problemOf = (text: string): string => {
  const parsed = parseJsonText(text, MAX_DEPTH)
  assert.ok('problem' in parsed)
  return parsed.problem
}

const accepts = (text: string): boolean => 'value' in parseJsonText(text, MAX_DEPTH)

/** Whether no number of the text becomes infinite. */
const keeps = (text: string): boolean => {
  const parsed = parseJsonText(text, MAX_DEPTH)
  assert.ok('value' in parsed)
  const isKept = (value: unknown): boolean =>
    typeof value === 'object' && value !== null
      ? Object.values(value).every(isKept)
      : typeof value !== 'number' || Number.isFinite(value)
  return isKept(parsed.value)
}

describe('the numbers of a JSON text', () => {
  const kept = `
    0 -0 1 -12 1.5 1e3 1E+3 1e-3 0.1 3.141592653589793238462643383279 1e-999 0e999 1e22 1e23 1e308
    9007199254740991 -9007199254740991 9007199254740992 9007199254740994 10000000000000000 100000000000000000000000
    123456789012345600000 1234567890123456.0 0.00000000000000000000001e23 12345.000000000000000000
    1.7976931348623157e308 1234567890.123456e6 1234567890123456.5
  `
  it('stay the same if they are fractions, or integers that JavaScript writes unchanged', () => {
    for (const number of kept.trim().split(/\s+/)) {
      assert.deepEqual(parseJsonText(`{"a":${number}}`, MAX_DEPTH), { value: { a: Number(number) } })
    }
  })

  const changed = `
    9007199254740993 -9007199254740993 12345678901234567890 1152921504606846976 9007199254740993.0
    1.2345678901234567891e19 12345678901234567891e0 900719925474099.3e1 1234567890.12345678e8
    100000000000000000000000000000000000000000000000001
  `
  const infinite = ['1e999', '-1e999', '1e0309', '17976931348623159e292', '9'.repeat(400), '1.5E+400']
  it('become infinite if they are too large, or integers that JavaScript would change', () => {
    for (const number of [...changed.trim().split(/\s+/), ...infinite]) {
      const parsed = parseJsonText(`{"a":${number},"b":"\\"${number},","c":[1,${number}]}`, MAX_DEPTH)
      assert.ok('value' in parsed)
      const { a, b, c } = parsed.value as { a: number; b: string; c: number[] }
      assert.deepEqual([Math.abs(a), b, c[0], Math.abs(c[1]!)], [Infinity, `"${number},`, 1, Infinity])
    }
  })

  it('that are integers stay the same exactly if JSON.stringify writes them unchanged', () => {
    const integers = fc.oneof(
      fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }),
      fc.bigInt({ min: 2n ** 53n - 100n, max: 2n ** 53n + 100n }),
      fc
        .tuple(fc.bigInt({ min: 1n, max: 10n ** 17n }), fc.nat(280))
        .map(([digits, zeros]) => digits * 10n ** BigInt(zeros)),
    )
    fc.assert(
      fc.property(integers, (integer) => {
        const [digits = '', exponent = '0'] = JSON.stringify(Number(integer)).replace('.', '').split('e+')
        const whole = exponent === '0' ? digits : digits.padEnd(Number(exponent) + (integer < 0n ? 2 : 1), '0')
        assert.equal(keeps(`[${integer}]`), BigInt(whole) === integer)
      }),
      seeded({ numRuns: 1000 }),
    )
  })
})

describe('the quick search for doubtful numbers', () => {
  it('misses no number that the precise scan refuses', () => {
    const digits = fc.string({ unit: fc.constantFrom('0', '0', '1', '9'), minLength: 1, maxLength: 20 })
    const exponent = fc
      .tuple(fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), fc.nat(400))
      .map((parts) => parts.join(''))
    const optional = (arbitrary: fc.Arbitrary<string>) => fc.oneof(fc.constant(''), arbitrary)
    const number = fc
      .tuple(optional(fc.constant('-')), digits, optional(digits.map((fraction) => `.${fraction}`)), optional(exponent))
      .map(([sign, integer, fraction, power]) => sign + (integer.replace(/^0+/, '') || '0') + fraction + power)
    const place = fc.constantFrom(
      (text: string) => text,
      (text: string) => `[0,${text}]`,
      (text: string) => `{"a":\t${text}}`,
    )
    fc.assert(
      fc.property(number, place, (literal, put) => {
        // The number of 16 digits makes the reader scan the text precisely.
        assert.equal(keeps(put(literal)), keeps(`[1234567890123456,${put(literal)}]`))
      }),
      seeded({ numRuns: 1000 }),
    )
  })
})

describe('the depth of a JSON text', () => {
  const nested = (depth: number) => '{"a":['.repeat(depth / 2) + ']}'.repeat(depth / 2)

  it('may be 64', () => {
    assert.ok(accepts(nested(64)))
    assert.ok(accepts(`[${Array.from({ length: 100 }, () => nested(62)).join()}]`))
  })

  it('may not be more', () => {
    assert.equal(problemOf(`{"b":${nested(64)}}`), 'The body must be nested at most 64 levels deep')
    assert.equal(problemOf('{"a":['.repeat(33)), 'The body must be nested at most 64 levels deep')
    assert.ok(!accepts('['.repeat(5_000_000)))
  })
})

describe('a text that is not JSON', () => {
  it('is refused without a quotation', () => {
    for (const empty of ['', ' \n']) assert.equal(problemOf(empty), 'The body must be JSON and not empty')
    const malformed = ['{"a":1,}', '{"a":1', '[1] secret', '"a\nsecret"', '"secret\\x"', '[01]', 'secret', '\u{FEFF}{}']
    for (const text of malformed) assert.equal(problemOf(text), 'The body must be valid JSON')
  })

  it('is a text that JSON.parse refuses', () => {
    const tokens = '9007199254740993 "a" "\\u00e9" "\\ud8" true nul 1 - 0 .5 e1 \\'.split(' ')
    const token = fc.constantFrom('{', '}', '[', ']', ',', ':', '"', ' ', '\n', '\t', '\0', ...tokens)
    const noise = fc.array(token, { maxLength: 8 }).map((chosen) => chosen.join(''))
    const text = fc.oneof(
      noise,
      fc.tuple(fc.json(), fc.nat(), noise).map(([json, at, put]) => {
        const where = at % (json.length + 1)
        return json.slice(0, where) + put + json.slice(where)
      }),
    )
    fc.assert(
      fc.property(text, (given) => {
        assert.equal(accepts(given), isJson(given))
        // The doubtful numbers around the text make the reader scan it precisely.
        const among = (inner: string) => `[9007199254740993,${inner},9007199254740993]`
        assert.equal(accepts(among(given)), isJson(among(given)))
      }),
      seeded({ numRuns: 1000 }),
    )
  })
})

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe('a JSON text of a megabyte', () => {
  const BYTES = 1024 * 1024
  const fill = (part: string) => part.repeat(BYTES / part.length)
  const hostile = [
    `"${fill('\\"')}"`,
    `"${fill('\\')}`,
    fill('9'),
    `1${fill('0')}1`,
    `0.${fill('0')}1e${BYTES}`,
    `0e${fill('9')}`,
    `[${fill('9007199254740992,')}1]`,
    `[${fill('1.2345678901234567e3,')}1]`,
    `${fill('\n')}x`,
    `{"${fill('k')}":1e999}`,
  ]

  it('is read in linear time: quadratic time would exceed the time of a test', () => {
    for (const text of hostile) parseJsonText(text, MAX_DEPTH)
  })
})
