import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import * as v from 'valibot'
import { batchJob } from '../../contract/job.ts'
import type { BatchQueueName } from '../../contract/queues.ts'
import type { Admit } from '../../queue/admission.ts'
import { admissionsIn } from '../../queue/admit.ts'
import { batchIdOf } from '../../queue/batch.ts'
import type { HandedBatch } from '../../queue/hand-over.ts'
import { admissionKeys, carrierValue, MICROSECONDS_PER_MS, readCarrier } from '../../queue/keys.ts'
import { describeBatch, handOverLeft, handOverLost } from '../../queue/outbox.ts'
import { asked, entered, openQueueRoom } from '../support/queue-room.ts'
import { until } from '../support/until.ts'

const SECRET = 'said in confidence'
const BODY = JSON.stringify({ description: SECRET })
const LATER_MS = 60_000

describe('batches', () => {
  let room: ReturnType<typeof openQueueRoom>
  let admit: Admit
  before(() => {
    room = openQueueRoom()
    const { redis, prefix, handOver } = room
    admit = admissionsIn({ redis, prefix, handOver, findStoredKey: async () => null })
  })
  beforeEach(async () => {
    for (const name of ['submissions', 'conversations', 'purges'] as const) await room.queues[name].drain(true)
  })
  after(() => room.close())

  const namesOf = (workspaceId: string) => admissionKeys(room.prefix, workspaceId)
  /** Admits without handing over. */
  const accept = async (
    workspaceId: string,
    operations: readonly HandedBatch['operations'][number][] = ['create_feedback'],
  ): Promise<HandedBatch> => {
    const requests = operations.map((operation) => asked({ workspaceId, operation, bodyText: BODY }))
    const [first] = await Promise.all(requests.map((request) => room.admit(request)))
    return { workspaceId, batchId: batchIdOf(entered(first).submissionId), operations, bytes: 100 }
  }
  const outboxOf = (workspaceId: string): Promise<string[]> => room.redis.zrange(namesOf(workspaceId).outbox, '0', '-1')
  const carrierOf = (workspaceId: string, batchId: string): Promise<string | null> =>
    room.redis.hget(namesOf(workspaceId).carriers, batchId)
  const jobsOf = async (queue: BatchQueueName) => room.queues[queue].getJobs(['waiting', 'delayed'])
  const batchesIn = async (queue: BatchQueueName): Promise<string[]> =>
    (await jobsOf(queue)).flatMap(({ data }) => v.parse(batchJob, data).batches.map(({ batchId }) => batchId))
  const left = (workspaceIds: readonly string[], forMs: number) => handOverLeft(room, { workspaceIds, forMs })
  const lost = (workspaceIds: readonly string[], laterMs = LATER_MS) =>
    handOverLost(room, { workspaceIds, forMs: -laterMs })
  const carried = async (workspaceId: string): Promise<HandedBatch & { jobId: string }> => {
    const batch = await accept(workspaceId)
    await room.handOver('submissions', batch)
    const { jobId } = readCarrier((await carrierOf(workspaceId, batch.batchId))!)
    return { ...batch, jobId }
  }

  it('of one tick share a job, whatever their workspaces; it has counts for a name, and names for data', async () => {
    const [one, other] = [randomUUID(), randomUUID()]
    const batches = [
      await accept(one, ['create_feedback', 'create_feedback', 'identify_contact']),
      await accept(other, ['create_feedback']),
      await accept(one, ['identify_account']),
    ]
    await Promise.all(batches.map((batch) => room.handOver('submissions', batch)))
    const [job, ...more] = await jobsOf('submissions')
    assert.deepEqual(more, [])
    assert.equal(job?.name, '3 create_feedback, 1 identify_contact, 1 identify_account')
    const named = batches.map(({ operations, ...batch }) => ({ ...batch, submissions: operations.length }))
    const byName = (a: { batchId: string }, b: { batchId: string }) => a.batchId.localeCompare(b.batchId)
    const { version, batches: inJob } = v.parse(v.strictObject(batchJob.entries), job.data)
    assert.deepEqual([version, inJob.toSorted(byName)], [1, named.toSorted(byName)])
    for (const { workspaceId, batchId } of batches) {
      assert.equal(await carrierOf(workspaceId, batchId), carrierValue('submissions', job.id!))
      assert.deepEqual(await outboxOf(workspaceId), [])
    }
  })

  it('of different kinds go to queues of their own, and what is apart to a job of its own', async () => {
    const workspaceId = randomUUID()
    const feedback = [await accept(workspaceId), await accept(workspaceId)]
    const conversation = await accept(workspaceId, ['submit_conversation'])
    const purge = await accept(workspaceId, ['purge_contact'])
    await Promise.all([
      ...feedback.map((batch) => room.handOver('submissions', { ...batch, apart: {} })),
      room.handOver('conversations', conversation),
      room.handOver('purges', { ...purge, apart: { delayMs: LATER_MS } }),
    ])
    assert.equal((await jobsOf('submissions')).length, 2)
    assert.deepEqual(await batchesIn('conversations'), [conversation.batchId])
    assert.equal(await room.queues.purges.getDelayedCount(), 1)
    assert.deepEqual(await outboxOf(workspaceId), [])
  })

  it('are handed over once they are admitted, and no body reaches the queue', async () => {
    const workspaceIds = [randomUUID(), randomUUID()]
    const operations = ['create_feedback', 'submit_conversation', 'purge_contact', 'identify_contact'] as const
    await Promise.all(
      workspaceIds.flatMap((workspaceId) =>
        operations.map((operation) => admit(asked({ workspaceId, operation, bodyText: BODY }))),
      ),
    )
    for (const workspaceId of workspaceIds) {
      await until('the outbox is empty', async () => (await outboxOf(workspaceId)).length === 0)
      const batchIds = await room.redis.zrange(namesOf(workspaceId).outstanding, '0', '-1')
      assert.equal(batchIds.length, 3)
      for (const batchId of batchIds) {
        const { queue, jobId } = readCarrier((await carrierOf(workspaceId, batchId))!)
        const job = await room.queues[queue].getJob(jobId)
        assert.ok(v.parse(batchJob, job?.data).batches.some((named) => named.batchId === batchId))
        assert.ok(!JSON.stringify(job).includes(SECRET))
      }
    }
  })

  it('that nobody handed over are, after a while, by whoever looks', async () => {
    const workspaceIds = [randomUUID(), randomUUID(), randomUUID()]
    const batches = [
      await accept(workspaceIds[0]!, ['create_feedback', 'identify_contact']),
      await accept(workspaceIds[1]!, ['submit_conversation']),
    ]
    assert.equal(await left(workspaceIds, LATER_MS), 0)
    assert.equal(await left(workspaceIds, -LATER_MS), 2)
    assert.equal(await left(workspaceIds, -LATER_MS), 0)
    assert.deepEqual(
      [await batchesIn('submissions'), await batchesIn('conversations')],
      batches.map(({ batchId }) => [batchId]),
    )
    assert.equal((await jobsOf('submissions'))[0]?.name, '1 create_feedback, 1 identify_contact')
  })

  it('that are left in a few of very many workspaces are found, each where it is', async () => {
    const workspaceIds = Array.from({ length: 250 }, () => randomUUID())
    const batches = await Promise.all([0, 99, 100, 249].map((at) => accept(workspaceIds[at]!)))
    assert.equal(await left(workspaceIds, -LATER_MS), batches.length)
    const handed = await batchesIn('submissions')
    assert.deepEqual(handed.toSorted(), batches.map(({ batchId }) => batchId).toSorted())
  })

  it('whose job was lost are handed over again, and no others', async () => {
    const workspaceId = randomUUID()
    const [lives, isLost, neverHad] = [
      await carried(workspaceId),
      await carried(workspaceId),
      await accept(workspaceId),
    ]
    assert.equal(await room.queues.submissions.remove(isLost.jobId), 1)
    assert.equal(await lost([workspaceId], -LATER_MS), 0)
    assert.equal(await lost([workspaceId, randomUUID()]), 2)
    assert.deepEqual(
      (await batchesIn('submissions')).toSorted(),
      [lives, isLost, neverHad].map(({ batchId }) => batchId).toSorted(),
    )
    assert.equal(await lost([workspaceId]), 0)
  })

  it('that were accepted before the clock of Redis went back are handed over as if they were old', async () => {
    const workspaceId = randomUUID()
    const aheadMs = Date.now() + 60 * LATER_MS
    const floor = aheadMs * MICROSECONDS_PER_MS
    const admitAbove = room.admitAbove(async () => floor)
    const batchId = batchIdOf(entered(await admitAbove(asked({ workspaceId }))).submissionId)
    assert.equal(await left([workspaceId], LATER_MS), 0)
    await room.redis.zadd(namesOf(workspaceId).outbox, aheadMs, batchId)
    assert.equal(await left([workspaceId], LATER_MS), 1)
    assert.equal(await lost([workspaceId], -LATER_MS), 0)
    await room.queues.submissions.drain()
    assert.equal(await lost([workspaceId], -LATER_MS), 1)
  })

  it('whose job is delayed or in hand are left alone, and those whose job has ended are not', async () => {
    const workspaceId = randomUUID()
    const delayed = await accept(workspaceId)
    await room.handOver('submissions', { ...delayed, apart: { delayMs: LATER_MS } })
    const ended = await carried(workspaceId)
    const other = await carried(workspaceId)
    const worker = await room.takeJobs('submissions')
    const [one, inHand] = [await worker.take(), await worker.take()]
    assert.deepEqual([one?.id, inHand?.id], [ended.jobId, other.jobId])
    assert.equal(await lost([workspaceId]), 0)
    await one!.moveToCompleted('done', worker.token, false)
    assert.equal(await lost([workspaceId]), 1)
    assert.deepEqual(await batchesIn('submissions'), [ended.batchId, delayed.batchId])
    await inHand!.moveToCompleted('done', worker.token, false)
    await worker.close()
  })

  it('of decided purges are handed over again as well', async () => {
    const workspaceId = randomUUID()
    const { batchId } = await accept(workspaceId, ['purge_contact'])
    const batch = (await room.books.read({ workspaceId, batchId }))!
    await room.books.decide([{ batch, sayings: [{ newIds: [], aboutKeys: [] }] }])
    await room.redis.unlink(namesOf(workspaceId).outbox)
    assert.equal(await lost([workspaceId]), 1)
    assert.deepEqual(await batchesIn('purges'), [batchId])
  })

  it('that are split have no job until each is handed over by itself', async () => {
    const workspaceId = randomUUID()
    const batch = await accept(workspaceId, ['create_feedback', 'create_feedback'])
    await room.handOver('submissions', batch)
    await room.books.split((await room.books.read(batch))!)
    assert.equal(await left([workspaceId], -LATER_MS), 2)
    assert.equal(await describeBatch(room, batch), undefined)
    const ones = await room.redis.zrange(namesOf(workspaceId).outstanding, '0', '-1')
    assert.deepEqual((await describeBatch(room, { workspaceId, batchId: ones[0]! }))?.batch.operations, [
      'create_feedback',
    ])
  })

  it('leave no carrier when their job was faster than the news of it', async () => {
    const workspaceId = randomUUID()
    const batch = await accept(workspaceId)
    await room.settle(workspaceId, batch.batchId)
    await room.handOver('submissions', batch)
    assert.deepEqual(await batchesIn('submissions'), [batch.batchId])
    assert.deepEqual(await room.keysOf(workspaceId), ['ledger', 'number'])
  })

  it('stay in the outbox when they could not be handed over, and nobody hears of it', async () => {
    const workspaceId = randomUUID()
    const batch = await accept(workspaceId)
    const gone = openQueueRoom()
    gone.redis.disconnect()
    await gone.handOver('submissions', batch)
    assert.deepEqual(await outboxOf(workspaceId), [batch.batchId])
  })
})
