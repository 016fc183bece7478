import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { contactIdKey, contactSourceKey, emailKey, hashKeyFrom } from '../../../contract/identity/keys.ts'
import { choosePurged, namedKeys, openIdKey, type PurgeCandidate } from '../../../contract/identity/purge-keys.ts'
import type { Operation, Submission } from '../../../contract/submission.ts'

const workspaceId = '6f1b7c1e-52f1-4d0a-9c58-0c8f4f1f3a09'
const realm = { hashKey: hashKeyFrom('5a'.repeat(32)), workspaceId }
const OWN_ID = 'F0000000-0000-8000-8000-00000000000F'

const keysOf = (operation: Operation, body: object): string[] =>
  namedKeys(realm, {
    operation,
    workspaceId,
    submissionId: OWN_ID,
    number: 1,
    body,
  } as unknown as Submission).toSorted()
const open = (source: string, id: string): string[] => [
  contactSourceKey(realm, source, id),
  contactIdKey(realm, id),
  openIdKey(realm, id),
]

describe('the keys by which a submission names contacts', () => {
  it('are own ids or external ids, and emails, for a feedback', () => {
    const own = { isExternalContactId: false, contactId: OWN_ID, contact: { id: 'no own id', email: 'A@x.example' } }
    assert.deepEqual(keysOf('create_feedback', own), [OWN_ID.toLowerCase(), emailKey(realm, 'a@x.example')].toSorted())
    const external = { isExternalContactId: true, contactId: 'ada', contact: { id: 'bob' }, source: 'CRM' }
    assert.deepEqual(keysOf('create_feedback', external), [...open('CRM', 'ada'), ...open('CRM', 'bob')].toSorted())
  })

  it('are its id and its email, for an identified contact', () => {
    const inSource = { id: 'ada', source: 'CRM', properties: { $email: 'a@x.example' } }
    const keys = [contactSourceKey(realm, 'CRM', 'ada'), contactIdKey(realm, 'ada'), emailKey(realm, 'a@x.example')]
    assert.deepEqual(keysOf('identify_contact', inSource), keys.toSorted())
    assert.deepEqual(keysOf('identify_contact', { id: 'ada' }), open('API', 'ada').toSorted())
  })

  it('are the keys of its contacts and senders, for a conversation', () => {
    const body = {
      source: 'Chat',
      contacts: [{ id: 'ada' }],
      messages: [{ contactId: 'ada' }, { contactId: 'bob' }, {}],
    }
    assert.deepEqual(keysOf('submit_conversation', body), [...open('Chat', 'ada'), ...open('Chat', 'bob')].toSorted())
  })

  it('are absent for an account', () => {
    assert.deepEqual(keysOf('identify_account', { id: 'acme' }), [])
  })

  it('match the keys of a purge of the same email or id; an id with a source matches in this source only', () => {
    const meets = (wanted: object, named: object): boolean => {
      const keys = keysOf('identify_contact', named)
      return namedKeys(realm, { operation: 'purge_contact', body: wanted }).some((key) => keys.includes(key))
    }
    assert.ok(meets({ id: 'ada' }, { id: 'ada', source: 'CRM' }))
    assert.ok(meets({ id: 'ada', source: 'CRM' }, { id: 'ada', source: 'CRM' }))
    assert.ok(!meets({ id: 'ada', source: 'Chat' }, { id: 'ada', source: 'CRM' }))
    assert.ok(meets({ email: 'A@x.example' }, { id: 'ada', properties: { $email: 'a@X.example' } }))
  })
})

type Held = { ids?: readonly (readonly [source: string, externalId: string])[]; email?: string; isMeant?: boolean }

/** Candidates, and for each external id and email the candidates that have it. */
const candidates = (held: Readonly<Record<string, Held>>): PurgeCandidate[] =>
  Object.entries(held).map(([id, { ids = [], email = null, isMeant = false }]) => ({
    id,
    email,
    isMeant,
    externalIds: ids.map(([source, externalId]) => ({
      source,
      externalId,
      epoch: 1,
      holders: Object.keys(held).filter((other) => held[other]!.ids?.some(([, otherId]) => otherId === externalId)),
    })),
    emails:
      email === null ? [] : [{ email, holders: Object.keys(held).filter((other) => held[other]!.email === email) }],
  }))

describe('a purge', () => {
  it('in a source leaves the contact of another source, and records that name the id without a source', () => {
    const held = { one: { ids: [['CRM', 'ada']] }, two: { ids: [['Chat', 'ada']] } } as const
    const chosen = choosePurged(realm, { id: 'ada', source: 'Chat' }, candidates(held))
    const key = contactSourceKey(realm, 'Chat', 'ada')
    assert.deepEqual(chosen, { contactIds: ['two'], endedKeys: [key], keys: [key], formerKeys: [] })
  })

  it('by email matches the contact that the email means and contacts with it in their column, but no former claimant', () => {
    const all = candidates({
      meant: { ids: [['API', '1']], email: 'a@x.example', isMeant: true },
      column: { ids: [['API', '2']], email: 'a@x.example' },
      former: { ids: [['API', '3']], email: 'a@x.example' },
    }).map((one) => (one.id === 'column' ? one : { ...one, email: 'now@x.example' }))
    const chosen = choosePurged(realm, { email: 'A@x.example' }, all)
    assert.deepEqual(chosen.contactIds, ['meant', 'column'])
    assert.ok(!chosen.endedKeys.includes(emailKey(realm, 'a@x.example')), 'another contact still holds the email')
  })
})
