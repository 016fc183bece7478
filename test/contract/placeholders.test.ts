import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type * as v from 'valibot'
import { accountRecord, contactRecord } from '../../contract/contact-record.ts'
import { conversationRecord } from '../../contract/conversation-record.ts'
import { feedbackRecord } from '../../contract/feedback-record.ts'
import { PLACEHOLDER_WORDS } from '../../contract/identity/placeholders.ts'
import type { JsonObject } from '../../contract/json.ts'
import { checkBody } from '../../contract/check-body.ts'
import { purgeRequest } from '../../contract/purge-request.ts'

const named = { $name: 'Acme', $domain: 'acme.example' }
const createdAt = '2026-01-01T00:00:00Z'
const conversation = { id: '0', source: 's', createdAt, contacts: [], messages: [] }
const message = { id: '0', contactId: 'undefined', incoming: true, content: 'x', createdAt }
/** Placeholders at places for ids in a feedback. */
const ids = { contactId: 'nan', contact: { id: 'null' }, accountId: 'nil', account: { id: '-' }, projectId: 'null' }
const feedback = { description: 'x', sourceId: 'T-1', ...ids }
const external = { isExternalContactId: true, isExternalAccountId: true }

const PATHS: readonly (readonly [schema: v.GenericSchema, body: JsonObject, paths: readonly string[]])[] = [
  [accountRecord, { id: '0', properties: named }, ['id']],
  [contactRecord, { id: 'x', account: { id: 'None', properties: named } }, ['account.id']],
  [conversationRecord, { ...conversation, contacts: [{ id: 'x' }, { id: 'guest' }] }, ['contacts.1.id']],
  [conversationRecord, { ...conversation, messages: [message] }, []],
  [purgeRequest, { id: 'null', email: 'kate@x.example' }, ['id']],
  [feedbackRecord, { ...feedback, ...external }, ['contactId', 'contact.id', 'accountId', 'account.id']],
  [feedbackRecord, { ...feedback, isExternalContactId: true }, ['contactId', 'contact.id']],
  [feedbackRecord, { ...feedback, isExternalAccountId: true }, ['accountId', 'account.id']],
  [feedbackRecord, feedback, []],
  [feedbackRecord, { description: 'x', sourceId: '\\N' }, ['sourceId']],
  [feedbackRecord, { description: 'x', sourceId: ' ' }, ['sourceId']],
  [feedbackRecord, { description: 'x', sourceId: '<4711@mail.example.org>' }, []],
  // A placeholder is reported together with all other problems, and an empty id only once.
  [feedbackRecord, { ...external, contactId: 'nil', rating: 'x' }, ['description', 'rating', 'contactId']],
  [feedbackRecord, { ...external, description: 'x', contactId: '' }, ['contactId']],
  [contactRecord, { id: '' }, ['id']],
  // An email or a name may be a placeholder.
  [feedbackRecord, { description: 'x', contact: { email: 'N/A', name: 'none' } }, []],
  [contactRecord, { id: 'x', properties: { $email: 'null' } }, []],
  [contactRecord, { id: 'x', properties: { $email: 'no address' } }, []],
]

const pathsOf = (schema: v.GenericSchema, body: JsonObject): string[] => {
  const result = checkBody(schema, body)
  return 'problems' in result ? result.problems.map(({ path }) => path) : []
}

describe('a body with placeholders, or with an empty id,', () => {
  for (const [schema, body, paths] of PATHS) {
    it(`has ${paths.length === 0 ? 'no problems' : `problems at ${paths.join(', ')}`}: ${JSON.stringify(body)}`, () => {
      assert.deepEqual(pathsOf(schema, body), paths)
    })
  }
})

describe('a placeholder', () => {
  it('is refused as an external id in any form, with a message that says why', () => {
    for (const id of [
      ...PLACEHOLDER_WORDS,
      'NULL',
      ' undefined ',
      'n/a\u200b',
      ' ',
      '\\N',
      '#N/A',
      '{{user.id}}',
      '-',
    ]) {
      const result = checkBody(contactRecord, { id })
      assert.deepEqual('problems' in result && result.problems, [
        { path: 'id', message: 'id must be an id, not blank and not a placeholder such as null or undefined' },
      ])
    }
  })

  it('is ignored as the email of a purge, which then needs an id', () => {
    for (const email of ['', ' ', ' \t', 'N/A', 'Kate <undefined>', '\u200b', '\\N', '(null)', null]) {
      assert.deepEqual(pathsOf(purgeRequest, { email, id: null }), [''])
      assert.deepEqual(pathsOf(purgeRequest, { id: 'x', email }), [])
    }
  })
})

describe('the email of a purge', () => {
  it('is refused if it is no address, with or without an id', () => {
    for (const email of ['keine', 'user-7', 'null@null', 'a@b@x.example', '{{user}}@x.example'])
      for (const id of ['x', null]) {
        const result = checkBody(purgeRequest, { id, email })
        assert.deepEqual('problems' in result && result.problems, [
          { path: 'email', message: 'email must be an email address, such as kate@acme.example' },
        ])
      }
    assert.deepEqual(pathsOf(purgeRequest, { email: 'Kate <kate@x.example>' }), [])
  })
})
