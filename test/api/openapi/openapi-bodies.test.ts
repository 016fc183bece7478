import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as v from 'valibot'
import { BODIES } from '../../../api/openapi/schemas.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../contract/json.ts'
import { document, type Example, fits, objectsIn, resolved, submissions } from './openapi-document.ts'

describe('the bodies in the OpenAPI document', () => {
  for (const { path, schema, operation } of submissions) {
    const content = operation.requestBody?.content['application/json']
    const examples = Object.entries<Example>(content?.examples ?? {})

    it(`of ${path} have examples, which validation accepts`, () => {
      assert.ok(examples.length >= 2)
      for (const [name, { value }] of examples) {
        assert.deepEqual(v.safeParse(schema, value).issues, undefined, name)
        assert.ok(fits(content?.schema ?? null, value), name)
      }
    })

    it(`of ${path} are described as validation judges them`, () => {
      let refused = 0
      for (const [name, { value }] of examples) {
        for (const [what, variant] of variantsOf(value)) {
          if (SAID_IN_WORDS.test(what)) continue
          const { success } = v.safeParse(schema, variant)
          if (!success) refused++
          assert.equal(fits(content?.schema ?? null, variant), success, `${name}: ${what}`)
        }
      }
      assert.ok(refused > 10)
    })
  }

  /**
   * Another member decides whether these ids may be blank, and the email of a purge is an address. The
   * document says so in words.
   */
  const SAID_IN_WORDS = /\.(contactId|accountId|contact\.id|account\.id) is a blank text$|^the body\.email is a /

  const PROBES: Readonly<Record<string, JsonValue>> = {
    null: null,
    'an empty text': '',
    'a blank text': ' \u{FEFF}',
    'a text': 'x',
    'a text of 512 astral characters': '\u{10400}'.repeat(512),
    'a text of 513 characters': 'x'.repeat(513),
    'a text of 200 astral characters': '\u{10400}'.repeat(200),
    'a text of 201 characters': 'x'.repeat(201),
    'a date-time': '2026-02-28T23:59:59.5-08:00',
    'a date that does not exist': '2026-02-30T00:00:00Z',
    'a fraction': 1.5,
    true: true,
    'an empty array': [],
    'an array of numbers': [1],
    'an array of 100 texts': Array.from({ length: 100 }, () => 'x'),
    'an array of 101 texts': Array.from({ length: 101 }, () => 'x'),
    'an empty object': {},
    'an object of other members': { other: { nested: [null] } },
  }

  /** Variants of the value: each part replaced by each probe, and each member left out. */
  const variantsOf = function* (value: JsonValue, path = 'the body'): Generator<[what: string, variant: JsonValue]> {
    for (const [what, probe] of Object.entries(PROBES)) yield [`${path} is ${what}`, probe]
    if (typeof value !== 'object' || value === null) return
    for (const [name, member] of Object.entries(value)) {
      const put = (variant: JsonValue): JsonValue =>
        Array.isArray(value) ? value.with(Number(name), variant) : { ...value, [name]: variant }
      for (const [what, variant] of variantsOf(member, `${path}.${name}`)) yield [what, put(variant)]
      if (Array.isArray(value)) continue
      const { [name]: _, ...rest } = value
      yield [`${path} without ${name}`, rest]
    }
  }

  it('have the bounds of arrays and free objects, as far as JSON Schema can express them', () => {
    const createdAt = '2026-01-01T00:00:00Z'
    const people = (count: number) => Array.from({ length: count }, () => ({ id: 'x' }))
    const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`m${at}`, null]))
    const bounds: readonly (readonly [keyof typeof BODIES, (count: number) => JsonObject, most: number])[] = [
      ['Conversation', (count) => ({ id: 'x', source: 'x', createdAt, contacts: people(count), messages: [] }), 10_000],
      ['FeedbackSubmission', (count) => ({ description: 'x', sourceData: members(count) }), 1_000],
      ['ContactReference', (count) => ({ sourceData: members(count) }), 1_000],
      ['AccountReference', (count) => ({ sourceData: members(count) }), 1_000],
      ['ContactRecord', (count) => ({ id: 'x', properties: members(count) }), 1_000],
      ['Message', (count) => ({ id: 'x', incoming: true, content: '', createdAt, properties: members(count) }), 1_000],
    ]
    for (const [name, bodyWith, most] of bounds) {
      for (const count of [most, most + 1]) {
        const body = bodyWith(count)
        assert.equal(v.safeParse(BODIES[name], body).success, count === most, name)
        assert.equal(fits(document.components['schemas']?.[name] ?? null, body), count === most, name)
      }
    }
  })

  it('have no defaults, since type generators treat a member with a default as required', () => {
    const withDefault = [...objectsIn(document.components['schemas'] ?? null)].filter(
      ([, schema]) => 'default' in schema,
    )
    assert.deepEqual(withDefault, [])
  })

  it('keep all members in a generator that makes a type of each alternative', () => {
    for (const [path, { anyOf, properties, type }] of objectsIn(document.components['schemas'] ?? null)) {
      if (!Array.isArray(anyOf)) continue
      assert.deepEqual([properties, type], [undefined, undefined], path)
      const alternatives = anyOf.map((schema) => (isJsonObject(schema) ? resolved(schema) : {}))
      const records = alternatives.filter((schema) => schema['type'] === 'object')
      const members = records.map((schema) => Object.keys(schema['properties'] ?? {}).toSorted())
      assert.ok(new Set(members.map(String)).size <= 1, path)
    }
  })

  it('have a name for each nullable object', () => {
    const nameless = [...objectsIn(document.components['schemas'] ?? null)].filter(
      ([, { type }]) => Array.isArray(type) && type.includes('object'),
    )
    assert.deepEqual(nameless, [])
  })
})
