import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, it } from 'node:test'
import * as v from 'valibot'
import { feedbackRecord } from '../../../contract/feedback-record.ts'
import { emailKey, ownId } from '../../../contract/identity/keys.ts'
import type { Submission } from '../../../contract/submission.ts'
import { countUnpurged, type PurgedKey, raisePurgedKeys, readPurgedKeys } from '../../../db/purges/purge-replay.ts'
import { setAside } from '../../../db/submissions/dead.ts'
import { findKeysToFree, freeKeys } from '../../../db/submissions/idempotency-keys.ts'
import { findPurge, removeRecords } from '../../../db/purges/removal.ts'
import { findReceipt } from '../../../db/submissions/receipts.ts'
import { createPurgeRig, type PurgeRig } from '../../support/purge-rig.ts'
import { hashKey, sharedSchema } from '../../support/schema.ts'

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

describe('a purge of corrected and hidden feedback', () => {
  beforeEach(begin)

  it('removes it with its corrections, also dead ones, and frees their idempotency keys', async () => {
    const id = await rig.feedback({ contact: { email: 'ann@example.com' } })
    const idempotency = { key: 'ckey', body: 'hash' }
    await rig.apply(rig.make('correct_feedback', { id, tags: ['secret'], isHidden: true }, { idempotency }))
    const dead = rig.make('correct_feedback', { id, tags: ['secret too'] })
    assert.ok(
      await setAside(schema.sql, hashKey, { submission: dead, attempts: 1, reason: 'x', expected: dead.number - 1 }),
    )
    const purge = await rig.decide({ email: 'ann@example.com' })
    assert.deepEqual(await rig.remove(purge), { ...NOTHING, contacts: 1, feedback: 1, deadSubmissions: 1 })
    assert.deepEqual(
      [await count('feedback'), await count('feedback_category'), await count('dead_submission')],
      [0, 0, 0],
    )
    assert.equal((await findReceipt(schema.sql, ws, dead.submissionId))?.state, 'purged')
    const keys = await findKeysToFree(schema.sql, {
      workspaceId: ws,
      subjectIds: [purge.purgeId],
      number: purge.number,
      limit: 9,
    })
    assert.deepEqual(
      keys.map(({ key }) => key),
      ['ckey'],
    )
  })
})

describe('the deletion of a feedback', () => {
  beforeEach(begin)

  it('removes dead submissions of the record that are older, and those alone', async () => {
    const sent = { sourceId: 'T', description: 'x' }
    await rig.feedback(sent)
    const id = ownId(rig.realm, 'feedback', 'API', 'T')
    const setDead = async (submission: Submission): Promise<string> => {
      await setAside(schema.sql, hashKey, { submission, attempts: 1, reason: 'x', expected: submission.number - 1 })
      return submission.submissionId
    }
    const body = v.parse(feedbackRecord, sent)
    const older = await setDead(rig.make('create_feedback', body))
    const corrected = await setDead(rig.make('correct_feedback', { id, rating: 1 }))
    const other = await setDead(rig.make('create_feedback', { ...body, sourceId: 'U' }))
    const deletion = await rig.decide({ id }, {}, 'delete_feedback')
    const newer = await setDead(rig.make('create_feedback', body))
    assert.deepEqual(await rig.remove(deletion), { ...NOTHING, feedback: 1, deadSubmissions: 2 })
    const states = await Promise.all(
      [older, corrected, other, newer].map(async (each) => (await findReceipt(schema.sql, ws, each))?.state),
    )
    assert.deepEqual(states, ['purged', 'purged', 'dead', 'dead'])
    const unmatched = await rig.decide({ id: randomUUID() }, {}, 'delete_feedback')
    assert.equal(unmatched.isMatched, false)
  })

  it('is repeated in a restored backup', async () => {
    const id = await rig.feedback({})
    await rig.remove(await rig.decide({ id }, {}, 'delete_feedback'))
    const keys: PurgedKey[] = []
    for await (const key of readPurgedKeys(schema.sql)) if (key.workspaceId === ws) keys.push(key)
    const restored = await createPurgeRig(schema.sql)
    const own = keys.map((key) => ({ ...key, workspaceId: restored.realm.workspaceId, number: 2_000_000 }))
    await restored.feedback({}, { submissionId: id })
    await restored.feedback({})
    assert.equal(await countUnpurged(schema.sql, own), 2)
    await raisePurgedKeys(schema.sql, own)
    assert.equal(await countUnpurged(schema.sql, own), 0)
    const left = await schema.sql`select from feedback where workspace_id = ${restored.realm.workspaceId}`
    assert.equal(left.count, 1)
  })
})
