import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import { type Job, Queue, Worker } from 'bullmq'
import * as v from 'valibot'
import { keyedHash } from '../../../contract/identity/own-id.ts'
import { sayingsOf } from '../../../contract/identity/sayings.ts'
import { JOB_VERSION, type Operation, type SubmissionJob, submissionJob } from '../../../contract/job.ts'
import { JOB_OPTIONS } from '../../../contract/queues.ts'
import type { Sql } from '../../../db/postgres.ts'
import { barrierIn } from '../../../queue/barrier.ts'
import { idempotencyOf } from '../../../queue/idempotency.ts'
import { admissionKeys, existsValue } from '../../../queue/keys.ts'
import { queuedFactsIn } from '../../../queue/queued-facts.ts'
import { findQueuedReceipt } from '../../../queue/queued-receipt.ts'
import { queuedSubmissions } from '../../../queue/queued-submissions.ts'
import { takeOverFormer } from '../../../worker/upkeep/take-over-former.ts'
import { hashKey } from '../../support/deliveries.ts'
import { asked, entered, forgetKeys, openQueueRoom } from '../../support/queue-room.ts'

const EMAIL = 'ann@example.org'
const BODIES: Readonly<Record<Operation, object>> = {
  create_feedback: { description: 'x', contact: { email: EMAIL } },
  identify_contact: { id: '1', properties: { $email: EMAIL } },
  identify_account: { id: '1' },
  submit_conversation: {
    id: '1',
    source: 'chat',
    createdAt: '2026-01-01T00:00:00Z',
    contacts: [{ id: '1' }],
    messages: [],
  },
  purge_contact: { email: EMAIL },
}
const FORMER_QUEUE_OF: Readonly<Record<Operation, string>> = {
  create_feedback: 'feedback',
  identify_contact: 'contacts',
  identify_account: 'accounts',
  submit_conversation: 'conversations',
  purge_contact: 'purges',
}
const FORMER_QUEUES = [...Object.values(FORMER_QUEUE_OF), 'tagging']

describe('what release 0.2 left in Redis', () => {
  let room: ReturnType<typeof openQueueRoom>
  let former: Map<string, Queue>
  let workspaceId: string
  before(() => {
    room = openQueueRoom()
  })
  beforeEach(async () => {
    await forgetKeys(room.redis, room.prefix)
    workspaceId = randomUUID()
    former = new Map(
      FORMER_QUEUES.map((name) => [name, new Queue(name, { connection: room.redis, prefix: formerPrefix(name) })]),
    )
    await Promise.all([...former.values()].map((queue) => queue.waitUntilReady()))
  })
  after(() => room.close())

  const formerPrefix = (name: string): string => `{${room.prefix}:${name}}`
  /** Nothing is read from Postgres. */
  const takeOver = () => takeOverFormer({ ...room, hashKey, sql: undefined as unknown as Sql })
  const base = (): string => `{${room.prefix}:${workspaceId}}`

  /** As admit.lua of that release wrote it. */
  const admitAsFormer = async (operation: Operation, number: number): Promise<SubmissionJob> => {
    const { redis } = room
    const job = v.parse(submissionJob, {
      version: JOB_VERSION,
      operation,
      workspaceId,
      submissionId: randomUUID(),
      number,
      body: BODIES[operation],
    })
    const { newIds, aboutKeys } = sayingsOf({ hashKey, workspaceId }, job)
    await redis.zadd(`${base()}:outstanding`, number, job.submissionId)
    await redis.set(`${base()}:number`, number)
    await redis.hincrby(`${base()}:ledger`, 'accepted', 1)
    if (operation === 'purge_contact') await redis.zadd(`${base()}:purges`, number, job.submissionId)
    for (const { id, of } of newIds) await redis.hset(`${base()}:exists`, id, existsValue(number, of))
    for (const { keyId, sayings } of aboutKeys) {
      await redis.hset(`${base()}:said:${keyId}`, String(number), JSON.stringify(sayings))
    }
    const options = { ...JOB_OPTIONS, jobId: job.submissionId }
    await former.get(FORMER_QUEUE_OF[operation])!.add(operation, job, options)
    return job
  }
  const admitAll = async (): Promise<SubmissionJob[]> => {
    const jobs: SubmissionJob[] = []
    for (const operation of Object.keys(BODIES) as Operation[]) {
      jobs.push(await admitAsFormer(operation, 1_000 + jobs.length))
    }
    return jobs
  }
  const settleAll = async (jobs: readonly SubmissionJob[]): Promise<void> => {
    for (const job of jobs) await room.settle(workspaceId, job.submissionId, sayingsOf({ hashKey, workspaceId }, job))
  }
  const queued = () => Array.fromAsync(queuedSubmissions(room.redis, room.prefix, workspaceId))
  const formerKeys = async (): Promise<string[]> =>
    (await Promise.all(FORMER_QUEUES.map((name) => room.redis.keys(`${formerPrefix(name)}:*`)))).flat()

  it('is on the books once, says what it said, and nothing of the old form stays', async () => {
    const jobs = await admitAll()
    assert.equal(await takeOver(), jobs.length)
    assert.equal(await takeOver(), 0)
    assert.deepEqual(await queued(), jobs)
    const { ledger, outbox } = admissionKeys(room.prefix, workspaceId)
    assert.deepEqual(await room.redis.hmget(ledger, 'accepted', 'queued'), [String(jobs.length), String(jobs.length)])
    assert.equal(await room.redis.zcard(outbox), jobs.length)
    const purge = jobs.at(-1)!
    assert.deepEqual((await barrierIn(room.redis, room.prefix)(workspaceId)).purges, [purge.number])
    for (const job of jobs) {
      const { newIds, aboutKeys } = sayingsOf({ hashKey, workspaceId }, job)
      const keyIds = [...aboutKeys.map(({ keyId }) => keyId), ...newIds.map(({ id }) => id)]
      const told = await queuedFactsIn(room.redis, room.prefix)(workspaceId, keyIds)
      for (const { keyId, sayings } of aboutKeys) {
        assert.ok(
          told
            .get(keyId)
            ?.said.some((said) => JSON.stringify(said) === JSON.stringify({ number: job.number, sayings })),
        )
      }
      for (const { id } of newIds) assert.notEqual(told.get(id)?.existsFrom, null)
      const receipt = await findQueuedReceipt(room, { workspaceId, id: job.submissionId })
      assert.equal(receipt?.operation, job.operation)
    }
    assert.deepEqual(await formerKeys(), [])
    await settleAll(jobs)
    assert.deepEqual(await room.keysOf(workspaceId), ['ledger', 'number'])
  })

  it('is taken over whether it waits, is to be tried again, or has failed; what is settled is left', async () => {
    const queue = former.get('feedback')!
    const settled = { settled: true, version: JOB_VERSION, operation: 'create_feedback', workspaceId }
    await queue.add('create_feedback', { ...settled, submissionId: randomUUID(), number: 1 })
    const jobs: SubmissionJob[] = []
    for (const number of [1_000, 1_001, 1_002]) jobs.push(await admitAsFormer('create_feedback', number))
    const worker = new Worker('feedback', null, { connection: room.redis, prefix: formerPrefix('feedback') })
    const take = (): Promise<Job | undefined> => worker.getNextJob('token', { block: false })
    await (await take())!.moveToCompleted('applied', 'token', false)
    await (await take())!.moveToFailed(new Error('down'), 'token', false)
    await (await take())!.moveToDelayed(Date.now() + 60_000, 'token')
    await worker.close()
    const counts = await queue.getJobCounts('waiting', 'failed', 'delayed', 'completed')
    assert.equal(
      Object.values(counts).reduce((sum, count) => sum + count, 0),
      4,
    )
    await takeOver()
    assert.deepEqual(await queued(), jobs)
    assert.deepEqual(await formerKeys(), [])
  })

  it('stays with a worker of that release that has it in hand, and leaves the books once either has settled it', async () => {
    const job = await admitAsFormer('create_feedback', 1_000)
    const worker = new Worker('feedback', null, { connection: room.redis, prefix: formerPrefix('feedback') })
    const inHand = await worker.getNextJob('token', { block: false })
    assert.ok(inHand)
    assert.equal(await takeOver(), 0)
    assert.equal(await takeOver(), 0)
    assert.equal((await queued()).length, 1)
    assert.equal(await room.redis.hget(`${base()}:ledger`, 'queued'), '1')
    await room.redis.zrem(`${base()}:outstanding`, job.submissionId)
    await inHand.moveToCompleted('applied', 'token', false)
    await worker.close()
    assert.equal(await takeOver(), 0)
    assert.deepEqual(await formerKeys(), [])
    await settleAll([job])
    assert.deepEqual(await room.keysOf(workspaceId), ['ledger', 'number'])
  })

  it('are texts that wait for tags, too', async () => {
    const job = { version: JOB_VERSION, workspaceId, feedbackIds: [randomUUID()], conversationIds: [] }
    await former.get('tagging')!.add('generate_tags', job, JOB_OPTIONS)
    assert.equal(await takeOver(), 1)
    assert.deepEqual(
      (await room.queues.tagging.getWaiting()).map(({ data }) => data as unknown),
      [job],
    )
    assert.deepEqual(await formerKeys(), [])
  })

  it('are idempotency keys: a repeat is answered as the first request was', async () => {
    const { operation, submissionId } = await admitAsFormer('create_feedback', 1_000)
    const whole = (text: string): string => keyedHash(hashKey, text, 'base64url')
    const bodyText = JSON.stringify(BODIES.create_feedback)
    const [seconds] = await room.redis.time()
    const number = Number(seconds) * 1_000_000
    const name = `${base()}:idempotency:${operation}:${whole('my key')}`
    await room.redis.set(name, `${whole(bodyText)}:${submissionId}:${number}:admitted`, 'EX', 86_400)
    await takeOver()
    await takeOver()
    assert.equal(await room.redis.exists(name), 0)
    const request = (text: string) =>
      asked({ workspaceId, idempotency: idempotencyOf(hashKey, { operation, key: 'my key', bodyText: text }) })
    const again = entered(await room.admit(request(bodyText)))
    assert.deepEqual([again.outcome, again.submissionId, again.number], ['repeated', submissionId, number])
    assert.equal((await room.admit(request('{}'))).outcome, 'other-body')
    for (const key of ['idempotency', 'settled-keys']) assert.ok((await room.redis.ttl(`${base()}:${key}`)) > 0)
  })
})
