import * as fc from 'fast-check'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../contract/json.ts'
import { resolved } from '../../api/openapi/openapi-document.ts'
import { or } from './fuzz-headers.ts'
import {
  IDENTITY_KEYS,
  HOSTILE_TEXTS,
  MEMBER_NAMES,
  NUMBERS,
  NO_JSON,
  DATE_TIMES,
  BAD_DATE_TIMES,
} from './fuzz-texts.ts'

/**
 * All generators make text, since some hostile content does not survive as a value: doubled keys,
 * huge numbers, `__proto__`.
 */
type Text = fc.Arbitrary<string>

const quoted = (text: string): string => JSON.stringify(text)

const someText: Text = fc
  .oneof(
    { weight: 6, arbitrary: fc.constantFrom(...IDENTITY_KEYS) },
    { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
    { weight: 2, arbitrary: fc.constantFrom(...HOSTILE_TEXTS) },
  )
  .map(quoted)
/**
 * Usually draws one of many values. If all submissions named few records, the load of each
 * submission would have much data.
 */
const shortText: Text = fc
  .oneof(
    { weight: 40, arbitrary: fc.nat({ max: 20_000 }).map((number) => `id-${number}@example.com`) },
    { weight: 2, arbitrary: fc.constantFrom(...IDENTITY_KEYS) },
    { weight: 1, arbitrary: fc.string({ minLength: 1, maxLength: 20 }) },
  )
  .map(quoted)
const dateTime: Text = fc
  .oneof(
    fc.constantFrom(...DATE_TIMES),
    fc
      .date({ min: new Date('0002-01-01T00:00:00Z'), max: new Date('9998-12-31T00:00:00Z'), noInvalidDate: true })
      .map((at) => at.toISOString()),
  )
  .map(quoted)
const finiteNumber: Text = fc.oneof(
  fc.constantFrom(...NUMBERS.filter((text) => Number.isFinite(Number(text)))),
  fc.double({ noDefaultInfinity: true, noNaN: true }).map((value) => JSON.stringify(value)),
  fc.integer({ min: -5, max: 10 }).map(String),
)
/** Ratings and contract values. All are within their bounds, and most are small. */
const amount: Text = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: -5, max: 10 }).map(String) },
  { weight: 1, arbitrary: fc.constantFrom('1e15', '-1e15', '4.5') },
)
const nested = fc
  .record({ levels: fc.oneof(fc.integer({ min: 55, max: 75 }), fc.constantFrom(2_000, 50_000)), array: fc.boolean() })
  .map(({ levels, array }) =>
    array ? '['.repeat(levels) + ']'.repeat(levels) : `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`,
  )

/** Objects and arrays at their bounds and beyond. */
const large = fc.oneof(
  fc
    .constantFrom(999, 1_000, 1_001)
    .map((members) => `{${Array.from({ length: members }, (_, at) => `"a.${at}":0`).join()}}`),
  fc.constantFrom(16_000, 17_000).map((bytes) => `{"a.b":${quoted('x'.repeat(bytes))}}`),
  fc.constantFrom(100, 101).map((items) => `[${Array.from({ length: items }, () => '"x"').join()}]`),
)

const objectOf = (members: readonly (readonly [key: string, value: string])[]): string =>
  `{${members.map(([key, value]) => `${quoted(key)}:${value}`).join()}}`

/** Any JSON, with the keys and values that break things. */
const { anything, anyObject } = fc.letrec<{ anything: string; anyObject: string; anyArray: string }>((tie) => ({
  anything: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(fc.constantFrom('null', 'true', 'false', '{}', '[]'), fc.constantFrom(...NUMBERS), someText),
    tie('anyObject'),
    tie('anyArray'),
  ),
  anyObject: fc
    .array(fc.tuple(fc.constantFrom(...MEMBER_NAMES), tie('anything')), { maxLength: 4, depthIdentifier: 'json' })
    .map(objectOf),
  anyArray: fc.array(tie('anything'), { maxLength: 4, depthIdentifier: 'json' }).map((items) => `[${items.join()}]`),
}))

/** A value for any place in a nearly valid body. */
const misplaced: Text = fc.oneof(
  { weight: 8, arbitrary: anything },
  { weight: 2, arbitrary: fc.constantFrom(...BAD_DATE_TIMES, ...HOSTILE_TEXTS).map(quoted) },
  { weight: 1, arbitrary: fc.constantFrom(...NO_JSON) },
  { weight: 1, arbitrary: nested },
  { weight: 1, arbitrary: large },
)

const FAULTLESS_WEIGHT = 40

/**
 * Texts that fit a schema of the document. With `hasFaults`, about one place in forty has another
 * value, or none.
 */
export const textOf = (schema: JsonValue, hasFaults: boolean): Text => {
  const definition = resolved(schema as JsonObject)
  const fitting = fittingTextOf(definition, hasFaults)
  return hasFaults ? or(FAULTLESS_WEIGHT, fitting, misplaced) : fitting
}

const fittingTextOf = (definition: JsonObject, hasFaults: boolean): Text => {
  if (Array.isArray(definition['enum']))
    return fc.constantFrom(...definition['enum'].map((value) => JSON.stringify(value)))
  // An `anyOf` beside `properties`, as in a purge, is satisfied often enough by chance.
  if (Array.isArray(definition['anyOf']) && definition['properties'] === undefined) {
    return fc.oneof(...definition['anyOf'].map((choice) => textOf(choice, hasFaults)))
  }
  const types = [definition['type'] ?? 'object'].flat() as string[]
  return fc.oneof(
    ...types.map((type) => (type === 'null' ? fc.constant('null') : textOfType(type, definition, hasFaults))),
  )
}

const textOfType = (type: string, definition: JsonObject, hasFaults: boolean): Text => {
  switch (type) {
    case 'string':
      if (definition['format'] === 'date-time') return dateTime
      return definition['maxLength'] === undefined ? someText : shortText
    case 'number':
    case 'integer':
      return definition['maximum'] === undefined ? finiteNumber : amount
    case 'boolean':
      return fc.constantFrom('true', 'false')
    case 'array':
      return fc
        .array(textOf(definition['items'] ?? {}, hasFaults), { maxLength: 4 })
        .map((items) => `[${items.join()}]`)
    case 'object':
      return isJsonObject(definition['properties'])
        ? membersOf(definition, definition['properties'], hasFaults)
        : anyObject
    default:
      throw new Error(`The type ${type} is unknown here`)
  }
}

const membersOf = (definition: JsonObject, properties: JsonObject, hasFaults: boolean): Text => {
  const required = new Set((definition['required'] ?? []) as string[])
  const members = Object.entries(properties).map(([name, schema]) => {
    const member = textOf(schema, hasFaults).map((text): [string, string][] => [[name, text]])
    const none = fc.constant<[string, string][]>([])
    if (!required.has(name)) return fc.oneof(none, member)
    return hasFaults ? or(FAULTLESS_WEIGHT, member, none) : member
  })
  const more = fc.array(fc.tuple(fc.constantFrom(...MEMBER_NAMES), anything), { maxLength: 2 })
  const open =
    definition['additionalProperties'] === true || hasFaults ? fc.oneof(fc.constant([]), more) : fc.constant([])
  // Further members stand last. With faults, one may repeat a known member, as JSON allows.
  return fc
    .tuple(open, fc.tuple(...members))
    .map(([others, known]) => objectOf([...known.flat(), ...(hasFaults ? others : unknownTo(properties, others))]))
}

const unknownTo = (properties: JsonObject, others: readonly [string, string][]): [string, string][] =>
  others.filter(([key]) => !Object.hasOwn(properties, key))

/** A body unrelated to the operation, JSON or not. */
export const hostileText: Text = fc.oneof(
  misplaced,
  anyObject,
  fc.constantFrom('', ' ', ...NO_JSON),
  fc.string({ unit: 'binary' }),
)
