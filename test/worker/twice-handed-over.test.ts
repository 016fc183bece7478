import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { randomUUID } from 'node:crypto'
import { batchIdOf } from '../../queue/batch.ts'
import { openWorker, type QueueWorker } from '../../queue/open-worker.ts'
import { createProcessors } from '../../worker/processors.ts'
import { hashKey } from '../support/deliveries.ts'
import { asked, entered, openQueueRoom } from '../support/queue-room.ts'
import { freshSchema, type TestSchema } from '../support/schema.ts'
import { until } from '../support/until.ts'

const STATEMENT_TIMEOUT_MS = 30_000
const MOST_IN_HAND = 250

describe('a batch that was handed over twice', () => {
  let room: ReturnType<typeof openQueueRoom>
  let schema: TestSchema
  let worker: QueueWorker
  let workspaceId: string
  const settled: string[] = []
  const faults: unknown[] = []
  before(async () => {
    room = openQueueRoom()
    schema = await freshSchema(2)
    const [workspace] = await schema.sql<{ id: string }[]>`select id from workspace`
    workspaceId = workspace!.id
    const processors = createProcessors({
      ...room,
      sql: schema.sql,
      hashKey,
      answerWithinMs: STATEMENT_TIMEOUT_MS,
      tracing: undefined,
      log: () => {},
      stop: new AbortController().signal,
      mostInHand: MOST_IN_HAND,
      queuesServed: ['submissions'],
      onLaneTime: () => {},
      onSettled: ({ submissionId }) => settled.push(submissionId),
    })
    const settings = { connection: room.redis, prefix: room.prefix, concurrency: 1 }
    worker = openWorker('submissions', processors.submissions, settings)
    worker.on('error', (error) => faults.push(error))
    worker.on('failed', (_, error) => faults.push(error))
  })
  after(async () => {
    await worker.close()
    await room.close()
    await schema.drop()
  })

  const bodyText = JSON.stringify({ description: 'x', isExternalContactId: false, isExternalAccountId: false })
  const completed = (count: number) =>
    until('the jobs are done', async () => (await room.queues.submissions.getCompletedCount()) === count)

  it('is stored once, and the second job is done, since its batch is gone', async () => {
    const { submissionId } = entered(await room.admit(asked({ workspaceId, bodyText })))
    const batch = { workspaceId, batchId: batchIdOf(submissionId), operations: ['create_feedback'] as const, bytes: 1 }
    for (let times = 0; times < 2; times++) await room.handOver('submissions', { ...batch, apart: {} })
    await completed(2)
    assert.deepEqual([settled, faults], [[submissionId], []])
    const [stored] = await schema.sql<{ count: number }[]>`select count(*)::int as count from feedback`
    assert.equal(stored!.count, 1)
    assert.deepEqual(await room.keysOf(workspaceId), ['ledger', 'number'])
  })

  it('and is gone altogether leaves its job done, beside others in that job', async () => {
    const { submissionId } = entered(await room.admit(asked({ workspaceId, bodyText })))
    const operations = ['create_feedback'] as const
    await Promise.all(
      [batchIdOf(submissionId), randomUUID()].map((batchId) =>
        room.handOver('submissions', { workspaceId, batchId, operations, bytes: 1 }),
      ),
    )
    await completed(3)
    assert.deepEqual([settled.at(-1), faults], [submissionId, []])
  })
})
