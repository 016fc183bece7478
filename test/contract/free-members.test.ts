import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { contactRecord } from '../../contract/contact-record.ts'
import { conversationRecord } from '../../contract/conversation-record.ts'
import { feedbackRecord } from '../../contract/feedback-record.ts'
import { checkFreeMembers } from '../../contract/free-members.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { checkBody, type Problem } from '../../contract/check-body.ts'
import { unflatten } from '../../contract/unflatten.ts'
import { seeded } from '../support/property-seed.ts'

const MAX_MEMBERS = 1_000
const MAX_BYTES = 16 * 1024

const crowd = (members: number, prefix = 'k'): JsonObject =>
  Object.fromEntries(Array.from({ length: members }, (_, index) => [`${prefix}${index}`, index]))

/** A text with which a member of this name has `bytes` bytes of JSON. */
const filling = (name: string, bytes: number): string =>
  'x'.repeat(bytes - JSON.stringify({ [name]: '' }).length + '{}'.length)

const CROWDED = 'must be an object of at most 1,000 members'
const LARGE = 'must be at most 16 KiB of JSON, with its name'

const problemsOf = (schema: Parameters<typeof checkBody>[0], body: JsonValue): Problem[] => {
  const checked = checkBody(schema, body)
  return 'problems' in checked ? checked.problems : []
}
const pathsOf = (...given: Parameters<typeof problemsOf>): string[] => problemsOf(...given).map(({ path }) => path)

const NAMED = { $name: 'Acme', $domain: 'acme.example' }
const CONVERSATION = { id: 'c', source: 's', createdAt: '2026-01-31T09:30:00Z', contacts: [], messages: [] }
const MESSAGE = { id: 'm', incoming: true, content: '', createdAt: '2026-01-31T09:30:00Z' }

type Place = readonly [
  schema: Parameters<typeof checkBody>[0],
  bodyWith: (free: JsonObject) => JsonObject,
  /** Whether each member of the free object is stored as metadata of its own. */
  isMetadata: boolean,
]

/** Places for a free object in a body. */
const PLACES: Readonly<Record<string, Place>> = {
  sourceData: [feedbackRecord, (sourceData) => ({ description: 'x', sourceData }), false],
  'contact.sourceData': [feedbackRecord, (sourceData) => ({ description: 'x', contact: { sourceData } }), true],
  'account.sourceData': [feedbackRecord, (sourceData) => ({ description: 'x', account: { sourceData } }), true],
  properties: [contactRecord, (properties) => ({ id: 'x', properties }), true],
  'account.properties': [
    contactRecord,
    (properties) => ({ id: 'x', account: { id: 'a', properties: { ...properties, ...NAMED } } }),
    true,
  ],
  'contacts.0.properties': [
    conversationRecord,
    (properties) => ({ ...CONVERSATION, contacts: [{ id: 'x', properties }] }),
    true,
  ],
  'contacts.0.account.properties': [
    conversationRecord,
    (properties) => ({
      ...CONVERSATION,
      contacts: [{ id: 'x', account: { id: 'a', properties: { ...properties, ...NAMED } } }],
    }),
    true,
  ],
  'messages.0.properties': [
    conversationRecord,
    (properties) => ({ ...CONVERSATION, messages: [{ ...MESSAGE, properties }] }),
    false,
  ],
}

describe('free objects', () => {
  for (const [place, [schema, bodyWith, isMetadata]] of Object.entries(PLACES)) {
    const room = place.includes('account.properties') ? MAX_MEMBERS - Object.keys(NAMED).length : MAX_MEMBERS

    const problems = (free: JsonObject): Problem[] => problemsOf(schema, bodyWith(free))
    const paths = (free: JsonObject): string[] => problems(free).map(({ path }) => path)

    it(`${place} has no object of more than 1,000 members at any depth`, () => {
      assert.deepEqual(paths({ ...crowd(room - 1), deep: [1, { in: crowd(600) }] }), [])
      assert.deepEqual(problems(crowd(room + 1)), [{ path: place, message: `${place} ${CROWDED}` }])
      const deep = paths({ deep: [crowd(MAX_MEMBERS + 1), { in: crowd(MAX_MEMBERS + 1) }] })
      // As metadata, `deep` is also too large.
      const inside = deep.filter((path) => path !== `${place}.deep`)
      assert.deepEqual(inside, [`${place}.deep.0`, `${place}.deep.1.in`])
    })

    it(`a member of ${place} has ${isMetadata ? 'at most 16 KiB' : 'no bound except the bound of the body'}`, () => {
      const large = isMetadata ? [{ path: `${place}.note`, message: `${place}.note ${LARGE}` }] : []
      assert.deepEqual(problems({ note: filling('note', MAX_BYTES) }), [])
      assert.deepEqual(problems({ note: filling('note', MAX_BYTES + 1), other: 1 }), large)
      assert.deepEqual(problems({ note: 'é'.repeat(MAX_BYTES / 2) }), large)
      assert.equal(problems({ ['k'.repeat(MAX_BYTES)]: 1 }).length, isMetadata ? 1 : 0)
    })
  }

  it('an unflattened object has its bounds both as sent and as stored', () => {
    const dotted = crowd(MAX_MEMBERS, 'a.')
    // Two dotted keys make one member that is too large.
    const halves = { 'a.b': 'x'.repeat(MAX_BYTES / 2), 'a.c': 'x'.repeat(MAX_BYTES / 2) }
    const records = [contactRecord, conversationRecord].map((schema) => (properties: JsonObject) => {
      const body = { ...CONVERSATION, id: 'x', properties, shouldUnflattenProperties: true }
      return pathsOf(schema, body)
    })
    for (const paths of records) {
      assert.deepEqual(paths(dotted), [])
      assert.deepEqual(paths({ ...dotted, b: 1 }), ['properties'])
      assert.deepEqual(paths({ a: crowd(1), ...crowd(999, 'a.x') }), [])
      assert.deepEqual(paths({ a: crowd(2), ...crowd(999, 'a.x') }), ['properties.a'])
    }
    assert.deepEqual(pathsOf(contactRecord, { id: 'x', properties: halves }), [])
    assert.deepEqual(
      records.map((paths) => paths(halves)),
      [['properties.a'], []],
    )
  })

  it('all problems are reported at once, with paths of bounded length', () => {
    const long = 'k'.repeat(20_000)
    const problems = problemsOf(contactRecord, {
      source: 5,
      properties: { $email: 5, [long]: crowd(MAX_MEMBERS + 1) },
    })
    const paths = problems.map(({ path }) => path)
    assert.deepEqual(paths.slice(0, 3).toSorted(), ['id', 'properties.$email', 'source'])
    // The member has too many members and too many bytes.
    assert.deepEqual(
      paths.slice(3),
      Array.from({ length: 2 }, () => `properties.${'k'.repeat(189)}…`),
    )
    for (const { message } of problems) assert.ok(message.length < 300)
  })

  it('have as many problems as a plain search finds', () => {
    const leaf = fc.oneof(
      fc.constantFrom<JsonValue>(null, 1, true, 'x', '\u{1F600}é"\\'),
      fc.constantFrom('y'.repeat(9_000), 'é'.repeat(9_000)),
      fc.constantFrom(900, 1_000, 1_001).map((members) => crowd(members)),
    )
    const { value } = fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
      value: fc.oneof({ maxDepth: 3 }, leaf, tie('object'), fc.array(tie('value'), { maxLength: 3 })),
      object: fc.dictionary(fc.constantFrom('a', 'b', 'a.b', 'a.c', 'a.b.c', '__proto__', '$x'), tie('value'), {
        maxKeys: 5,
        noNullPrototype: true,
      }),
    }))
    fc.assert(
      fc.property(value, fc.boolean(), fc.boolean(), (given, flag, isMetadata) => {
        if (!isJsonObject(given)) return
        const found = checkFreeMembers({ given, flag }, [
          { name: 'given', flag: 'flag', ...(isMetadata && { maxMemberBytes: MAX_BYTES }) },
        ])
        const stored = flag ? unflatten(given) : given
        const large = Object.entries(stored).filter(
          ([key, member]) => Buffer.byteLength(JSON.stringify({ [key]: member })) - '{}'.length > MAX_BYTES,
        ).length
        assert.equal(found.length, crowdsIn(stored) + (isMetadata ? large : 0))
      }),
      seeded(),
    )
  })
})

const crowdsIn = (value: JsonValue): number => {
  if (typeof value !== 'object' || value === null) return 0
  const inner = Object.values(value).reduce((sum: number, member) => sum + crowdsIn(member), 0)
  return inner + (!Array.isArray(value) && Object.keys(value).length > MAX_MEMBERS ? 1 : 0)
}

describe('tags', () => {
  it('are at most 100, of at most 200 characters', () => {
    const problems = (tags: JsonValue): Problem[] => problemsOf(feedbackRecord, { description: 'x', tags })
    assert.deepEqual(problems(Array.from({ length: 100 }, () => '\u{1F600}'.repeat(200))), [])
    const tooMany = [{ path: 'tags', message: 'tags must be an array of at most 100 tags' }]
    assert.deepEqual(problems(Array.from({ length: 101 }, () => 'x')), tooMany)
    const tooLong = [{ path: 'tags.1', message: 'tags.1 must be at most 200 characters long' }]
    assert.deepEqual(problems(['x', 'y'.repeat(201)]), tooLong)
  })
})
