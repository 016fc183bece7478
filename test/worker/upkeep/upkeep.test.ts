import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { admissionsIn } from '../../../queue/admit.ts'
import type { Admit } from '../../../queue/admission.ts'
import { admissionKeys } from '../../../queue/keys.ts'
import { feedbackRecord } from '../../../contract/feedback-record.ts'
import { JOB_VERSION } from '../../../contract/job.ts'
import { expireReceipts } from '../../../db/submissions/expire-receipts.ts'
import { closeQueues, type JobQueues, openQueues, queueingIn, submissionEnqueuer } from '../../../queue/job-queues.ts'
import { withdrawLost } from '../../../worker/upkeep/withdraw-lost.ts'
import * as v from 'valibot'
import { freshSchema, type TestSchema } from '../../support/schema.ts'
import { testServers } from '../../support/servers.ts'

const MINUTES_MS = 60_000

describe('upkeep', () => {
  const prefix = `t_${randomBytes(6).toString('hex')}`
  let schema: TestSchema
  let redis: Redis
  let queues: JobQueues
  let admit: Admit
  let workspaceId: string
  before(async () => {
    schema = await freshSchema(2)
    redis = new Redis(testServers().redisUrl)
    queues = openQueues(redis, prefix, () => {})
    admit = admissionsIn(redis, prefix, queueingIn(redis, queues))
    const [workspace] = await schema.sql<{ id: string }[]>`select id from workspace`
    workspaceId = workspace!.id
  })
  after(async () => {
    await closeQueues(queues)
    for await (const keys of redis.scanStream({ match: `{${prefix}:*`, count: 1_000 })) {
      if (keys.length > 0) await redis.unlink(keys as string[])
    }
    await redis.quit()
    await schema.drop()
  })

  const admitted = async (submissionId: string): Promise<number> => {
    const admission = await admit({
      workspaceId,
      operation: 'create_feedback',
      submissionId,
      sayings: {
        newIds: [{ id: `exists-${submissionId}`, of: 'record' }],
        aboutKeys: [{ keyId: 'key', sayings: [{ kind: 'named', id: 'x', source: 's' }] }],
      },
      lookUp: [],
    })
    assert.equal(admission.outcome, 'admitted')
    return admission.outcome === 'admitted' ? admission.number : 0
  }
  const sweep = (minutesLater: number) =>
    withdrawLost({ sql: schema.sql, redis, prefix, queues }, Date.now() + (minutesLater - 1) * MINUTES_MS)

  it('withdraws an admission whose job never came, with all that it said, and no other', async () => {
    const [lost, kept] = [randomUUID(), randomUUID()]
    const name = admissionKeys(prefix, workspaceId)
    const lostNumber = await admitted(lost)
    const keptNumber = await admitted(kept)
    await submissionEnqueuer(
      redis,
      queues,
    )({
      version: JOB_VERSION,
      operation: 'create_feedback',
      workspaceId,
      submissionId: kept,
      number: keptNumber,
      body: v.parse(feedbackRecord, { description: 'x' }),
    })
    assert.equal(await sweep(0), 0, 'too early to tell')
    assert.equal(await sweep(2), 1)
    assert.equal(await sweep(2), 0)
    assert.deepEqual(await redis.zrange(name.outstanding, '0', '-1'), [kept])
    assert.deepEqual([await redis.exists(name.withdrawn(lost)), await redis.exists(name.withdrawn(kept))], [1, 0])
    assert.equal(await redis.hget(name.ledger, 'accepted'), '1')
    assert.deepEqual(await redis.hkeys(name.exists), [`exists-${kept}`])
    assert.deepEqual(await redis.hkeys(name.said('key')), [String(keptNumber)])
    assert.ok(lostNumber < keptNumber)
  })

  it('lets receipts go after their days, and keeps their totals', async () => {
    const insert = (days: number, state: string) => schema.sql`
      insert into submission (workspace_id, id, acceptance_number, operation, state, attempts, finished_at)
      values (${workspaceId}, ${randomUUID()}, 1, 'create_feedback', ${state}, 1, now() - make_interval(days => ${days}))`
    await insert(89, 'applied')
    await insert(91, 'applied')
    await insert(91, 'dead')
    assert.equal(await expireReceipts(schema.sql, 90), 1)
    const left = await schema.sql<{ state: string }[]>`select state from submission order by state`
    assert.deepEqual(
      left.map(({ state }) => state),
      ['applied', 'dead'],
    )
    const [total] = await schema.sql<{ n: number }[]>`select submissions::int as n from ledger where state = 'applied'`
    assert.equal(total!.n, 2)
  })
})
