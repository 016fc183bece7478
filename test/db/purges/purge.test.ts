import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { emailKey } from '../../../contract/identity/keys.ts'
import { findKeysToFree, freeKeys } from '../../../db/submissions/idempotency-keys.ts'
import { findPurge, removeRecords } from '../../../db/purges/removal.ts'
import { findReceipt } from '../../../db/submissions/receipts.ts'
import { createPurgeRig, type PurgeRig } from '../../support/purge-rig.ts'
import { sharedSchema } from '../../support/schema.ts'

const schema = await sharedSchema()
const NOTHING = { contacts: 0, feedback: 0, messages: 0, conversations: 0, deadSubmissions: 0 }

let rig: PurgeRig
let ws: string

const begin = async (): Promise<void> => {
  rig = await createPurgeRig(schema.sql)
  ws = rig.realm.workspaceId
}
const count = async (table: string): Promise<number> =>
  (await schema.sql`select from ${schema.sql(table)} where workspace_id = ${ws}`).count

describe('the decision of a purge', () => {
  beforeEach(begin)

  it('without a match leaves a receipt that says so', async () => {
    await rig.identify({ id: 'ada', source: 'CRM' })
    const { isMatched, purgeId } = await rig.decide({ id: 'ada', source: 'Chat' })
    assert.ok(!isMatched)
    const receipt = await findReceipt(schema.sql, ws, purgeId)
    assert.equal(receipt?.state, 'applied')
    assert.deepEqual(receipt?.counts, NOTHING)
    assert.equal(await count('contact'), 1)
    assert.equal(await count('purged_key'), 0)
  })

  it('leaves a receipt that is queued until the records are removed, and then has their counts', async () => {
    await rig.feedback({ contact: { email: 'ann@example.com' } })
    await rig.feedback({ contact: { email: 'ann@example.com' } })
    await rig.identify({ id: 'ann', properties: { $email: 'ann@example.com' } })
    const messages = [{ id: '1', contactId: 'ann' }, { id: '2' }]
    await rig.conversation({ id: 'alone', contacts: [{ id: 'ann' }], messages })
    await rig.conversation({ id: 'both', contacts: [{ id: 'ann' }, { id: 'bob' }], messages })
    const purge = await rig.decide({ email: 'ann@example.com' })
    assert.equal((await findReceipt(schema.sql, ws, purge.purgeId))?.state, 'queued')
    await rig.remove(purge)
    const receipt = await findReceipt(schema.sql, ws, purge.purgeId)
    assert.equal(receipt?.state, 'applied')
    assert.deepEqual(receipt?.counts, { ...NOTHING, contacts: 1, feedback: 2, messages: 3, conversations: 1 })
    assert.deepEqual(receipt?.identifiers, { id: null, email: emailKey(rig.realm, 'ann@example.com') })
    const [progress] = await schema.sql`
      select applied::int, purges::int from workspace_progress where workspace_id = ${ws}`
    assert.deepEqual(progress, { applied: 6, purges: 1 })
  })
})

describe('the removal of a purge', () => {
  beforeEach(begin)

  it('removes a conversation without other contacts, even if a later submission gives one of its messages a contact', async () => {
    await rig.conversation({
      id: 'c',
      contacts: [{ id: 'ada' }],
      messages: [
        { id: '1', contactId: 'ada' },
        { id: '2', contactId: 'later' },
      ],
    })
    const purge = await rig.decide({ id: 'ada' })
    await rig.identify({ id: 'later' })
    assert.deepEqual(await rig.remove(purge), { ...NOTHING, contacts: 1, messages: 2, conversations: 1 })
    assert.equal((await count('conversation')) + (await count('message')) + (await count('unresolved')), 0)
  })

  it('frees the idempotency keys of submissions about the contact, and no others', async () => {
    const withKey = (key: string) => ({ idempotency: { key, body: 'b' } })
    await rig.feedback({ contactId: 'ada', isExternalContactId: true }, withKey('waited'))
    await rig.identify({ id: 'ada', properties: { $email: 'ada@example.com' } }, withKey('identified'))
    await rig.feedback({ contact: { email: 'ada@example.com' } }, withKey('by email'))
    await rig.conversation({ id: 'c', contacts: [{ id: 'ada' }], messages: [] }, withKey('conversation'))
    await rig.feedback({ contact: { email: 'bob@example.com' } }, withKey('of another'))
    const { purgeId } = await rig.decide({ id: 'ada' })
    await rig.feedback({ contact: { email: 'ada@example.com' } }, withKey('after'))
    await removeRecords(schema.sql, { workspaceId: ws, purgeId }, async () => {})
    const purge = (await findPurge(schema.sql, { workspaceId: ws, purgeId }))!
    const freed = await findKeysToFree(schema.sql, { workspaceId: ws, ...purge, limit: 100 })
    assert.deepEqual(freed.map(({ key }) => key).toSorted(), ['by email', 'conversation', 'identified', 'waited'])
    await freeKeys(schema.sql, { workspaceId: ws, submissionIds: freed.map(({ submissionId }) => submissionId) })
    assert.equal((await findKeysToFree(schema.sql, { workspaceId: ws, ...purge, limit: 100 })).length, 0)
  })
})
