import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { choosePurged, type PurgeCandidate } from '../../../contract/identity/purge-keys.ts'
import { contactSourceKey, emailKey, hashKeyFrom } from '../../../contract/identity/keys.ts'

const realm = { hashKey: hashKeyFrom('5a'.repeat(32)), workspaceId: '6f1b7c1e-52f1-4d0a-9c58-0c8f4f1f3a09' }

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
      holders: Object.keys(held).filter((other) => held[other]!.ids?.some(([, its]) => its === externalId)),
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

  it('by email ends the contact that it means and contacts with it in their column, but no former claimant', () => {
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
