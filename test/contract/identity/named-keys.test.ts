import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { contactIdKey, contactSourceKey, emailKey } from '../../../contract/identity/keys.ts'
import { namedKeys, openIdKey } from '../../../contract/identity/named-keys.ts'
import { hashKeyFrom } from '../../../contract/identity/own-id.ts'
import type { Operation } from '../../../contract/submission.ts'
import { accepted } from '../../model/submissions.ts'

const realm = { hashKey: hashKeyFrom('ab'.repeat(32)), workspaceId: '6f1b7c1e-52f1-4d0a-9c58-0c8f4f1f3a01' }
const inSource = (source: string, id: string): string => contactSourceKey(realm, source, id)
const inAny = (source: string, id: string): string[] => [
  inSource(source, id),
  contactIdKey(realm, id),
  openIdKey(realm, id),
]
const email = (address: string): string => emailKey(realm, address)
const sorted = (keys: readonly string[]): string[] => keys.toSorted()

const keysIn = (operation: Operation, body: object): string[] =>
  sorted(namedKeys(realm, accepted([[operation, body]], realm.workspaceId)[0]!))

describe('the keys that a submission names', () => {
  it('are the email and the own ids of a feedback', () => {
    const id = randomUUID()
    const body = { description: 'x', contactId: id.toUpperCase(), contact: { email: 'Ada <A@b.example>' } }
    assert.deepEqual(keysIn('create_feedback', body), sorted([id, email('a@b.example')]))
  })

  it('are the external ids of a feedback in its own source and in any', () => {
    const body = { description: 'x', source: 'shop', contactId: '7', isExternalContactId: true }
    assert.deepEqual(keysIn('create_feedback', body), sorted(inAny('shop', '7')))
  })

  it('are those of an identified contact, whose source may be left open', () => {
    const properties = { $email: 'A@b.example ' }
    assert.deepEqual(
      keysIn('identify_contact', { id: '7', source: 'shop', properties }),
      sorted([inSource('shop', '7'), contactIdKey(realm, '7'), email('a@b.example')]),
    )
    assert.deepEqual(keysIn('identify_contact', { id: '7' }), sorted(inAny('API', '7')))
  })

  it('are those that a purge asks for', () => {
    assert.deepEqual(
      keysIn('purge_contact', { id: '7', email: 'a@b.example', source: 'shop' }),
      sorted([inSource('shop', '7'), email('a@b.example')]),
    )
    assert.deepEqual(keysIn('purge_contact', { id: '7' }), [contactIdKey(realm, '7')])
  })

  it('are those of the contacts of a conversation and of all senders, also of messages that a later one replaces', () => {
    const message = { id: 'm', incoming: true, content: 'x', createdAt: '2026-01-01T00:00:00Z' }
    const body = {
      id: 'c',
      source: 'chat',
      createdAt: '2026-01-01T00:00:00Z',
      contacts: [{ id: '1' }, { id: '1', source: 'shop' }],
      messages: [
        { ...message, contactId: '2' },
        { ...message, contactId: '1' },
      ],
    }
    assert.deepEqual(
      keysIn('submit_conversation', body),
      sorted([inSource('shop', '1'), contactIdKey(realm, '1'), ...inAny('chat', '2')]),
    )
  })

  it('are none where a key counts as absent', () => {
    assert.deepEqual(keysIn('create_feedback', { description: 'x', contact: { email: 'N/A', name: 'Ada' } }), [])
  })
})
