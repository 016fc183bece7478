import assert from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import { findReceipt } from '../../db/submissions/receipts.ts'
import { findIdempotencyKeys } from '../../db/submissions/idempotency-keys.ts'
import { setAside } from '../../db/submissions/dead.ts'
import type { TaggingJob } from '../../contract/jobs.ts'
import { workspaceKeys } from '../../queue/keys.ts'
import { removePurged } from '../../worker/remove-purged.ts'
import { createPurgeRig, type PurgeRig } from '../support/purge-rig.ts'
import { requestFor, entered, openQueueRoom, takeSettings } from '../support/queue-room.ts'
import { hashKey, sharedSchema } from '../support/schema.ts'

const schema = await sharedSchema()
const CONVERSATION = {
  id: 'c',
  contacts: [{ id: 'ada' }, { id: 'bob' }],
  messages: [
    { id: '1', contactId: 'ada' },
    { id: '2', contactId: 'bob' },
  ],
}

describe('the job that removes the records of a purge', () => {
  const room = openQueueRoom()
  let rig: PurgeRig
  let workspaceId: string
  beforeEach(async () => {
    rig = await createPurgeRig(schema.sql)
    workspaceId = rig.realm.workspaceId
  })
  after(() => room.close())

  const stores = () => ({ ...room, logs: room.log, sql: schema.sql, hashKey })
  const remove = (purgeId: string) => removePurged(stores(), { workspaceId, purgeId, attempts: 2 }, async () => {})
  /** The entries in the log, applied or not. */
  const entries = async (): Promise<number> => room.redis.xlen(workspaceKeys(room.prefix, workspaceId).log)

  it('removes records, dead submissions, idempotency keys and applied entries, and completes the receipt', async () => {
    const body = { description: 'x', contact: { email: 'ada@example.com' } }
    // The hash of a body has nine characters (queue/lua/functions/idempotency-record.lua).
    const request = { workspaceId, bodyText: JSON.stringify(body), idempotency: { key: 'fkey', body: 'body-hash' } }
    const { submissionId, number } = entered(await room.admit(requestFor(request)))
    const submission = { submissionId, number, idempotency: request.idempotency }
    await rig.feedback(body, submission)
    const dead = rig.make('create_feedback', body, { number: number + 1 })
    await setAside(schema.sql, hashKey, { submission: dead, attempts: 1, reason: 'x', expected: number })
    await room.log.take([{ workspaceId, applied: number }], takeSettings({ redoMs: 600_000 }))
    assert.equal(await entries(), 1)
    const { purgeId } = await rig.decide({ email: 'ada@example.com' }, { number: number + 2 })

    assert.deepEqual(await remove(purgeId), { number: number + 2, operation: 'purge_contact' })
    const counts = { contacts: 1, feedback: 1, messages: 0, conversations: 0, deadSubmissions: 1 }
    const receipt = await findReceipt(schema.sql, workspaceId, purgeId)
    assert.deepEqual([receipt?.state, receipt?.attempts, receipt?.counts], ['applied', 2, counts])
    assert.equal((await findReceipt(schema.sql, workspaceId, dead.submissionId))?.state, 'purged')
    assert.equal(await entries(), 0)
    assert.deepEqual(await findIdempotencyKeys(schema.sql, [{ workspaceId, key: 'fkey' }]), [null])
    const again = await room.admit(
      requestFor({
        ...request,
        bodyText: '{"description":"another"}',
        idempotency: { key: 'fkey', body: 'otherhash' },
      }),
    )
    assert.equal(again.outcome, 'admitted', 'the key is free in Redis')
  })

  it('leaves submissions in the log that were accepted after the purge', async () => {
    await rig.feedback({ contact: { email: 'ada@example.com' } })
    const { purgeId, number } = await rig.decide({ email: 'ada@example.com' })
    const later = entered(await room.admit(requestFor({ workspaceId })))
    assert.ok(later.number > number)
    await remove(purgeId)
    const waiting = await Array.fromAsync(room.log.readWaiting(workspaceId))
    assert.deepEqual(
      waiting.map(({ submissionId }) => submissionId),
      [later.submissionId],
    )
  })

  it('makes workers tag again the conversations that lost messages', async () => {
    await rig.conversation(CONVERSATION)
    const { purgeId } = await rig.decide({ id: 'ada' })
    await remove(purgeId)
    const [conversation] = await schema.sql<{ id: string }[]>`
      select id from conversation where workspace_id = ${workspaceId} and tags is null`
    const jobs = (await room.queues.tagging.getJobs(['waiting'])).map(({ data }) => data as TaggingJob)
    assert.deepEqual(
      jobs.filter((job) => job.workspaceId === workspaceId),
      [{ workspaceId, feedbackIds: [], conversationIds: [conversation!.id] }],
    )
  })

  it('does nothing when it runs again', async () => {
    await rig.feedback({ contact: { email: 'ada@example.com' } })
    const { purgeId } = await rig.decide({ email: 'ada@example.com' })
    await remove(purgeId)
    const receipt = await findReceipt(schema.sql, workspaceId, purgeId)
    assert.equal(await remove(purgeId), undefined)
    assert.deepEqual(await findReceipt(schema.sql, workspaceId, purgeId), receipt)
  })
})
