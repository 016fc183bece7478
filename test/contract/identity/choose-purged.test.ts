import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { choosePurged, type PurgeCandidate } from '../../../contract/identity/choose-purged.ts'
import { contactSourceKey, emailKey } from '../../../contract/identity/keys.ts'
import { hashKeyFrom } from '../../../contract/identity/own-id.ts'

const realm = { hashKey: hashKeyFrom('ab'.repeat(32)), workspaceId: '6f1b7c1e-52f1-4d0a-9c58-0c8f4f1f3a01' }
const EMAIL = 'ada@acme.example'

const candidate = (id: string, more: Partial<PurgeCandidate> = {}): PurgeCandidate => ({
  id,
  email: EMAIL,
  isMeant: false,
  externalIds: [],
  emails: [{ email: EMAIL, holders: [id] }],
  ...more,
})
const held = (source: string, externalId: string, ...holders: string[]) => ({ source, externalId, epoch: 0, holders })
const idsOf = (wanted: { id?: string; email?: string; source?: string }, candidates: readonly PurgeCandidate[]) =>
  choosePurged(realm, wanted, candidates).contactIds

describe('a purge', () => {
  const crm = candidate('crm', { externalIds: [held('crm', '7', 'crm', 'shop')] })
  const shop = candidate('shop', { email: 'new@acme.example', externalIds: [held('shop', '7', 'crm', 'shop')] })
  const anonymous = candidate('anonymous')

  it('matches an external id in its source, or in all', () => {
    assert.deepEqual(idsOf({ id: '7' }, [crm, shop, anonymous]), ['crm', 'shop'])
    assert.deepEqual(idsOf({ id: '7', source: 'shop' }, [crm, shop, anonymous]), ['shop'])
  })

  it('matches the contact that an email means, and those whose column has it in any form', () => {
    const forms = [crm, { ...anonymous, email: 'Ada <ADA@acme.example>' }]
    assert.deepEqual(idsOf({ email: ` ${EMAIL} ` }, [...forms, shop]), ['crm', 'anonymous'])
    assert.deepEqual(idsOf({ email: EMAIL }, [{ ...shop, isMeant: true }]), ['shop'])
  })

  it('matches by email and source contacts that have an id there or, for API, none at all', () => {
    assert.deepEqual(idsOf({ email: EMAIL, source: 'crm' }, [crm, anonymous]), ['crm'])
    assert.deepEqual(idsOf({ email: EMAIL, source: 'API' }, [crm, anonymous]), ['anonymous'])
  })

  it('matches nothing by an email that counts as absent', () => {
    const placeholder = candidate('x', { email: 'N/A', emails: [{ email: 'N/A', holders: [] }] })
    assert.deepEqual(idsOf({ id: '8', email: 'N/A' }, [placeholder]), [])
  })

  it('ends all ids of its contacts, and the emails that no other contact holds', () => {
    const shared = { email: 'office@acme.example', holders: ['x', 'other'] }
    const own = { email: EMAIL, holders: ['x'] }
    const never = { email: 'lost@acme.example', holders: [] }
    const x = candidate('x', { externalIds: [held('crm', '7', 'x')], emails: [own, shared, never] })
    assert.deepEqual(choosePurged(realm, { id: '7' }, [x]).endedKeys.toSorted(), [
      ...[contactSourceKey(realm, 'crm', '7'), emailKey(realm, EMAIL)].toSorted(),
    ])
  })
})
