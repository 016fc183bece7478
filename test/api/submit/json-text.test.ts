import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { parseJsonText, type JsonProblem } from '../../../api/submit/json-text.ts'
import { seeded } from '../../support/property-seed.ts'

const MAX_DEPTH = 64

const problemOf = (text: string): JsonProblem => {
  const parsed = parseJsonText(text, MAX_DEPTH)
  assert.ok(!parsed.ok)
  return { message: parsed.message, path: parsed.path }
}

const accepts = (text: string): boolean => {
  return parseJsonText(text, MAX_DEPTH).ok
}

describe('the numbers of a JSON text', () => {
  const kept = `
    0 -0 1 -12 1.5 1e3 1E+3 1e-3 0.1 3.141592653589793238462643383279 1e-999 0e999 1e22 1e23 1e308
    9007199254740991 -9007199254740991 9007199254740992 9007199254740994 10000000000000000 100000000000000000000000
    123456789012345600000 1234567890123456.0 0.00000000000000000000001e23 12345.000000000000000000
    1.7976931348623157e308 1234567890.123456e6 1234567890123456.5
  `
  for (const number of kept.trim().split(/\s+/)) {
    it(`keeps ${number}`, () => {
      assert.deepEqual(parseJsonText(`{"a":${number}}`, MAX_DEPTH), { ok: true, value: { a: Number(number) } })
    })
  }

  const changed = `
    9007199254740993 -9007199254740993 12345678901234567890 1152921504606846976 9007199254740993.0
    1.2345678901234567891e19 12345678901234567891e0 900719925474099.3e1 1234567890.12345678e8
    100000000000000000000000000000000000000000000000001
  `
  for (const number of changed.trim().split(/\s+/)) {
    it(`refuses ${number}, which would be changed`, () => {
      assert.deepEqual(problemOf(`{"a":${number}}`), {
        message: 'a must be an integer that a double-precision number keeps unchanged',
        path: 'a',
      })
    })
  }

  for (const number of ['1e999', '-1e999', '1e0309', '17976931348623159e292', '9'.repeat(400), '1.5E+400']) {
    it(`refuses ${number.slice(0, 30)}, which would be infinite`, () => {
      assert.deepEqual(problemOf(`[${number}]`), { message: '0 must be a finite number', path: '0' })
    })
  }

  it('leaves what only looks like a number', () => {
    const texts = ['9007199254740993', ' 9007199254740993', ', 1e999', '": [1e999]', '\\" 1e999', '\\\\']
    for (const text of texts) assert.ok(accepts(JSON.stringify({ [text]: text })))
  })

  it('refuses exactly the integers that JSON.stringify would write as another', () => {
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
        assert.equal(accepts(`[${integer}]`), BigInt(whole) === integer)
      }),
      seeded({ numRuns: 1000 }),
    )
  })
})

describe('the quick look for doubtful numbers', () => {
  it('misses none that the precise scan refuses', () => {
    const digits = fc.string({ unit: fc.constantFrom('0', '0', '1', '9'), minLength: 1, maxLength: 20 })
    const exponent = fc
      .tuple(fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), fc.nat(400))
      .map((parts) => parts.join(''))
    const optional = (arbitrary: fc.Arbitrary<string>) => fc.oneof(fc.constant(''), arbitrary)
    const number = fc
      .tuple(optional(fc.constant('-')), digits, optional(digits.map((of) => `.${of}`)), optional(exponent))
      .map(([sign, integer, fraction, power]) => sign + (integer.replace(/^0+/, '') || '0') + fraction + power)
    const place = fc.constantFrom(
      (text: string) => text,
      (text: string) => `[0,${text}]`,
      (text: string) => `{"a":\t${text}}`,
    )
    fc.assert(
      fc.property(number, place, (literal, put) => {
        assert.equal(accepts(put(literal)), accepts(`[1234567890123456,${put(literal)}]`))
      }),
      seeded({ numRuns: 2000 }),
    )
  })
})

describe('the path of a problem', () => {
  const paths: Record<string, string> = {
    '{"sourceData":{"count":1e999}}': 'sourceData.count',
    '{"messages":[{},{"id":1},[],{"id":1e999}]}': 'messages.3.id',
    '{"a":"]}","b":[[1,2,1e999]]}': 'b.0.2',
    '[ 1 , { "\\u0061\\"b" : 1e999 } ]': '1.a"b',
    '{"":1e999}': '',
    '1e999': '',
  }
  for (const [text, path] of Object.entries(paths)) {
    it(`is ${path || 'empty'} in ${text}`, () => {
      assert.equal(problemOf(text).path, path)
      assert.ok(problemOf(text).message.startsWith(`${path || 'The body'} must be `))
    })
  }

  it('is cut when the caller made it long', () => {
    const { path, message } = problemOf(`{"${'k'.repeat(500_000)}":1e999}`)
    assert.equal(path, `${'k'.repeat(200)}…`)
    assert.ok(message.length < 300)
  })

  it('tells the first of several', () => {
    assert.equal(problemOf('{"a":1,"b":1e999,"c":1e999,}').path, 'b')
  })
})

describe('the depth of a JSON text', () => {
  const nested = (depth: number) => '{"a":['.repeat(depth / 2) + ']}'.repeat(depth / 2)

  it('may be 64', () => {
    assert.ok(accepts(nested(64)))
    assert.ok(accepts(`[${Array.from({ length: 100 }, () => nested(62)).join()}]`))
  })

  it('may not be more', () => {
    const { message, path } = problemOf(`{"b":${nested(64)}}`)
    assert.equal(message, 'The body must be nested at most 64 levels deep')
    assert.ok(path.startsWith('b.a.0.a.0.'))
    assert.ok(!accepts('['.repeat(5_000_000)))
  })

  it('does not count brackets in strings', () => {
    assert.ok(accepts(JSON.stringify(['['.repeat(100), `\\"${'{'.repeat(100)}`, '\\\\', '"[['])))
  })
})

describe('a text that is not JSON', () => {
  const places: Record<string, string> = {
    '': 'The body must be JSON and not empty',
    ' \n': 'The body must be JSON and not empty',
    '{"a":1,}': 'The body must be valid JSON, which it is not at line 1, column 8',
    '{"a":1': 'The body must be valid JSON, which it is not at the end',
    '{\n  "a": 1,\n  b: 2\n}': 'The body must be valid JSON, which it is not at line 3, column 3',
    '[1] secret': 'The body must be valid JSON, which it is not at line 1, column 5',
    '"a\nsecret"': 'The body must be valid JSON, which it is not at line 1, column 3',
    '"secret\\x"': 'The body must be valid JSON, which it is not at line 1, column 8',
    '[01]': 'The body must be valid JSON, which it is not at line 1, column 3',
    secret: 'The body must be valid JSON, which it is not at line 1, column 1',
    '\u{FEFF}{}': 'The body must be valid JSON, which it is not at line 1, column 1',
  }
  for (const [text, message] of Object.entries(places)) {
    it(`is told without quoting it: ${JSON.stringify(text)}`, () => {
      assert.deepEqual(problemOf(text), { message, path: '' })
    })
  }

  it('is just what JSON.parse refuses', () => {
    const tokens = ['"a"', '"\\u00e9"', '"\\ud8"', 'true', 'nul', '1', '-', '0', '.5', 'e1', '\t', '\0', '\\']
    const token = fc.constantFrom('{', '}', '[', ']', ',', ':', '"', ' ', '\n', ...tokens)
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
        assert.equal(isTakenForJson(given), isJson(given))
        // With a number in front that wants the precise scan.
        assert.equal(isTakenForJson(`[1234567890123456,${given}]`), isJson(`[0,${given}]`))
      }),
      seeded({ numRuns: 2000 }),
    )
  })
})

/** True as well if the only thing wrong is a number. */
const isTakenForJson = (text: string): boolean => {
  const parsed = parseJsonText(text, MAX_DEPTH)
  return parsed.ok || (parsed.message.includes(' must be a') && isJson(text))
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe('a JSON text of 5 MiB', () => {
  const BYTES = 5 * 1024 * 1024
  const fill = (part: string) => part.repeat(BYTES / part.length)
  const hostile: Record<string, string> = {
    'quotes, escaped': `"${fill('\\"')}"`,
    'backslashes and no end': `"${fill('\\')}`,
    digits: fill('9'),
    'zeros between two digits': `1${fill('0')}1`,
    'a fraction that an exponent makes whole': `0.${fill('0')}1e${BYTES}`,
    'an exponent': `0e${fill('9')}`,
    'numbers that might change': `[${fill('9007199254740992,')}1]`,
    'fractions with exponents': `[${fill('1.2345678901234567e3,')}1]`,
    'lines before an error': `${fill('\n')}x`,
    'a key before an error': `{"${fill('k')}":1e999}`,
  }
  for (const [what, text] of Object.entries(hostile)) {
    it(`is read in linear time: ${what}`, () => {
      const started = performance.now()
      parseJsonText(text, MAX_DEPTH)
      // Under 0.2 s on an idle machine; quadratic time would be hours.
      assert.ok(performance.now() - started < 5_000)
    })
  }
})
