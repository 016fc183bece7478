import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type * as v from 'valibot'
import { accountRecord, contactRecord } from '../../contract/contact-record.ts'
import { conversationRecord } from '../../contract/conversation-record.ts'
import { feedbackRecord } from '../../contract/feedback-record.ts'
import { PLACEHOLDERS } from '../../contract/identity/canonical.ts'
import type { JsonObject } from '../../contract/json.ts'
import { checkBody } from '../../contract/problem.ts'
import { purgeRequest } from '../../contract/purge-request.ts'

const pathsOf = (schema: v.GenericSchema, body: JsonObject): string[] => {
  const result = checkBody(schema, body)
  return 'problems' in result ? result.problems.map(({ path }) => path) : []
}
const named = { $name: 'Acme', $domain: 'acme.example' }
const conversation = { id: 'c', source: 's', createdAt: '2026-01-01T00:00:00Z', contacts: [], messages: [] }
const message = { id: 'm', incoming: true, content: 'x', createdAt: '2026-01-01T00:00:00Z' }

describe('a placeholder as an external id', () => {
  it('is refused in any form by an identify, with a message that says why', () => {
    for (const id of [...PLACEHOLDERS, 'NULL', ' undefined ', 'n/a\u200b', ' ']) {
      const result = checkBody(contactRecord, { id })
      assert.deepEqual('problems' in result && result.problems, [
        { path: 'id', message: 'id must be an id, not blank and not a placeholder such as null or undefined' },
      ])
    }
    assert.deepEqual(pathsOf(accountRecord, { id: '0', properties: named }), ['id'])
    assert.deepEqual(pathsOf(contactRecord, { id: 'x', account: { id: 'None', properties: named } }), ['account.id'])
  })

  it('is refused by the contacts of a conversation, but not by its other ids', () => {
    assert.deepEqual(pathsOf(conversationRecord, { ...conversation, contacts: [{ id: 'x' }, { id: 'guest' }] }), [
      'contacts.1.id',
    ])
    const messages = [{ ...message, id: '0', contactId: 'undefined' }]
    assert.deepEqual(pathsOf(conversationRecord, { ...conversation, id: '0', messages }), [])
  })

  it('is refused by a purge', () => {
    assert.deepEqual(pathsOf(purgeRequest, { id: 'null', email: 'kate@x.example' }), ['id'])
  })

  it('is refused by a feedback, but only if its ids are external', () => {
    const ids = {
      contactId: 'undefined',
      contact: { id: 'null' },
      accountId: 'nan',
      account: { id: '-' },
      projectId: 'null',
      sourceId: '0',
    }
    const flags = (isExternalContactId: boolean, isExternalAccountId: boolean) =>
      pathsOf(feedbackRecord, { description: 'x', ...ids, isExternalContactId, isExternalAccountId })
    assert.deepEqual(flags(true, true), ['contactId', 'contact.id', 'accountId', 'account.id'])
    assert.deepEqual(flags(true, false), ['contactId', 'contact.id'])
    assert.deepEqual(flags(false, true), ['accountId', 'account.id'])
    assert.deepEqual(flags(false, false), [])
    assert.deepEqual(pathsOf(feedbackRecord, { description: 'x', ...ids }), [])
  })

  it('is reported beside all other problems, and an empty id once', () => {
    const flag = { isExternalContactId: true }
    assert.deepEqual(pathsOf(feedbackRecord, { ...flag, contactId: 'nil', rating: 'x' }), [
      'description',
      'rating',
      'contactId',
    ])
    assert.deepEqual(pathsOf(feedbackRecord, { ...flag, description: 'x', contactId: '' }), ['contactId'])
    assert.deepEqual(pathsOf(contactRecord, { id: '' }), ['id'])
  })
})

describe('a placeholder as an email', () => {
  it('counts as absent in a purge, which then needs an id', () => {
    for (const email of ['', ' ', 'N/A', 'Kate <undefined>', '\u200b']) {
      assert.deepEqual(pathsOf(purgeRequest, { email }), [''])
      assert.deepEqual(pathsOf(purgeRequest, { id: 'x', email }), [])
    }
  })

  it('is accepted elsewhere, as any text is', () => {
    assert.deepEqual(pathsOf(feedbackRecord, { description: 'x', contact: { email: 'N/A', name: 'none' } }), [])
    assert.deepEqual(pathsOf(contactRecord, { id: 'x', properties: { $email: 'null' } }), [])
  })
})
