import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { BODIES, type BodyName } from '../../api/openapi/body-schemas.ts'
import { accountRecord, contactRecord } from '../../contract/contact-record.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { checkBody } from '../../contract/problem.ts'
import { seeded } from '../support/property-seed.ts'

const MESSAGES = {
  'a member is missing': {
    schema: accountRecord,
    body: { id: 'acme', properties: { plan: 'x' } },
    messages: ['properties.$name is required', 'properties.$domain is required'],
  },
  'a member of an element is missing': {
    schema: BODIES.Conversation,
    body: { id: 'c', source: 's', createdAt: '2026-01-01T00:00:00Z', messages: [], contacts: [{}] },
    messages: ['contacts.0.id is required'],
  },
  'an object is something else': {
    schema: contactRecord,
    body: { id: 'c', account: [] },
    messages: ['account must be an object'],
  },
  'the body is something else': { schema: contactRecord, body: [], messages: ['The body must be an object'] },
} as const

/** The members that bodies have, wherever they have them. */
const MEMBERS = (
  'id source email description tags rating createdAt contacts messages content contact contactId account project ' +
  'incoming properties sourceData $name $domain $email $createdAt $contractValue name domain contractValue ' +
  'shouldUnflattenProperties'
).split(' ')
const { body } = fc.letrec<{ body: JsonObject; value: JsonValue }>((tie) => ({
  body: fc.dictionary(fc.constantFrom(...MEMBERS), tie('value'), { maxKeys: 12 }),
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom<JsonValue>(null, true, '', 'x', 1, 1.5, 'x'.repeat(600), '2026-01-01T00:00:00Z'),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('body'),
  ),
}))

describe('the problems of a body', () => {
  for (const [what, { schema, body: given, messages }] of Object.entries(MESSAGES)) {
    it(`are told in a sentence: ${what}`, () => {
      const checked = checkBody(schema, given as unknown as JsonValue)
      assert.deepEqual('problems' in checked && checked.problems.map(({ message }) => message), messages)
    })
  }

  it('are all told in sentences of ours, which begin with the path', () => {
    const names = fc.constantFrom(...(Object.keys(BODIES) as BodyName[]))
    fc.assert(
      fc.property(names, body, (name, value) => {
        const checked = checkBody(BODIES[name], value)
        for (const { message, path } of 'problems' in checked ? checked.problems : []) {
          const subject = path === '' ? 'The body' : path
          assert.ok(message.startsWith(`${subject} `), message)
          assert.match(message.slice(subject.length), /^ (?:is required|must be (?!Invalid)[a-z].*)$/)
          // Placeholders are the only thing that a message of ours calls undefined.
          assert.doesNotMatch(message.replace('null or undefined', ''), /received|undefined|Expected/)
        }
      }),
      seeded({ numRuns: 300 }),
    )
  })

  it('are the unknown members as well, if none is to be ignored', () => {
    const strict = (name: BodyName, given: JsonObject): string[] => {
      assert.ok('valid' in checkBody(BODIES[name], given))
      const checked = checkBody(BODIES[name], given, { isStrict: true })
      if ('valid' in checked) return []
      for (const { message, path } of checked.problems) assert.ok(message.startsWith(`${path} is no member`), message)
      return checked.problems.map(({ path }) => path)
    }
    const message = { id: 'm', incoming: true, content: '', createdAt: '2026-01-01T00:00:00Z', sent: 1 }
    const account = { id: 'a', name: 'x', properties: { $name: 'n', $domain: 'd', plan: { deep: 1 } } }
    const contact = { id: 'c', account, properties: { $email: 'e', plan: 1 }, email: 'e' }
    const conversation = {
      id: 'c',
      source: 's',
      createdAt: message.createdAt,
      messages: [message],
      contacts: [contact],
    }
    assert.deepEqual(
      strict('FeedbackSubmission', { description: '', contact: { emial: 'x', sourceData: { any: 1 } }, Tags: [] }),
      ['contact.emial', 'Tags'],
    )
    assert.deepEqual(strict('Conversation', { ...conversation, Title: '' }), [
      'messages.0.sent',
      'contacts.0.account.name',
      'contacts.0.email',
      'Title',
    ])
    assert.deepEqual(strict('PurgeRequest', { id: 'c', sources: [] }), ['sources'])
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`x${index}`, 1]))
    assert.equal(strict('ContactRecord', { id: 'c', ...many }).length, 100)
  })
})
