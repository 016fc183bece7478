import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { sayingsOf } from '../../../contract/identity/sayings.ts'
import { JOB_VERSION, type SubmissionJob } from '../../../contract/job.ts'
import { beginDeletion } from '../../../db/delete-workspace.ts'
import { expireReceipts } from '../../../db/submissions/expire-receipts.ts'
import { markReplayed, setAside } from '../../../db/submissions/dead.ts'
import { createWorkspace } from '../../../db/workspaces.ts'
import type { Admit } from '../../../queue/admission.ts'
import { admissionsIn } from '../../../queue/admit.ts'
import { batchIdOf } from '../../../queue/batch.ts'
import { booksIn } from '../../../queue/books.ts'
import { type HandOver, handingOverIn } from '../../../queue/hand-over.ts'
import { closeQueues, type JobQueues, openQueues } from '../../../queue/job-queues.ts'
import { admissionKeys, compactId } from '../../../queue/keys.ts'
import { finishReplays } from '../../../worker/upkeep/finish-replays.ts'
import { handOver, keepUp, startUpkeep } from '../../../worker/upkeep/upkeep.ts'
import { feedbackBody } from '../../support/below-the-ingress.ts'
import { hashKey } from '../../support/deliveries.ts'
import { freshSchema, type TestSchema } from '../../support/schema.ts'
import { testServers } from '../../support/servers.ts'
import { until } from '../../support/until.ts'

const MINUTE_MS = 60_000
const MICROSECONDS_PER_MS = 1_000

describe('upkeep', () => {
  const prefix = `t_${randomBytes(6).toString('hex')}`
  let schema: TestSchema
  let redis: Redis
  let queues: JobQueues
  let handingOver: HandOver
  /** As an API process that dies after the admission. */
  let admit: Admit
  let workspaceId: string
  let made = 0
  before(async () => {
    schema = await freshSchema(2)
    redis = new Redis(testServers().redisUrl)
    queues = openQueues(redis, prefix, () => {})
    handingOver = handingOverIn({ redis, prefix, queues, notedEveryMs: 0 })
    admit = admissionsIn({ redis, prefix, handOver: async () => {}, findStoredKey: async () => null })
  })
  beforeEach(async () => {
    const name = `workspace-${made++}`
    await createWorkspace(schema.sql, name)
    const [workspace] = await schema.sql<{ id: string }[]>`select id from workspace where name = ${name}`
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

  const stores = () => ({ sql: schema.sql, redis, prefix, queues, hashKey, handOver: handingOver })
  const keys = () => admissionKeys(prefix, workspaceId)

  const admitted = async (description = 'x'): Promise<string> => {
    const admission = await admit({
      workspaceId,
      operation: 'create_feedback',
      bodyText: JSON.stringify(feedbackBody(description)),
      saidBy: () => ({ sayings: { newIds: [], aboutKeys: [] }, lookUp: [] }),
    })
    assert.equal(admission.outcome, 'admitted')
    return batchIdOf((admission as { submissionId: string }).submissionId)
  }
  /** As if a batch had been admitted, or its job lost, so long ago. */
  const age = async (batchId: string, ms: number): Promise<void> => {
    const { outbox, outstanding } = keys()
    await redis.zadd(outbox, 'XX', Date.now() - ms, batchId)
    await redis.zadd(outstanding, 'XX', (Date.now() - ms) * MICROSECONDS_PER_MS, batchId)
  }
  const jobsOf = async (batchId: string): Promise<string[]> => {
    const jobs = await queues.submissions.getJobs(['waiting', 'delayed', 'active', 'failed', 'completed'])
    return jobs.flatMap(({ id, data }) =>
      (data as { batches: { batchId: string }[] }).batches.some((batch) => batch.batchId === batchId) ? [id!] : [],
    )
  }

  it('hands over what its process did not live to hand over, once it has lain for four seconds', async () => {
    const [left, recent] = [await admitted(), await admitted()]
    await age(left, 4_500)
    assert.equal(await handOver(stores()), 1)
    assert.equal(await handOver(stores()), 0)
    assert.deepEqual(await redis.zrange(keys().outbox, '0', '-1'), [recent])
    const [jobs, none] = [await jobsOf(left), await jobsOf(recent)]
    assert.deepEqual([jobs.length, none.length], [1, 0])
    assert.equal(await redis.hget(keys().carriers, left), `submissions:${jobs[0]}`)
  })

  it('leaves in the outbox what cannot be handed over, for the next time', async () => {
    const left = await admitted()
    await age(left, 4_500)
    const broken = {
      ...queues,
      submissions: { add: () => Promise.reject(new Error('no Redis')) },
    } as unknown as JobQueues
    await handOver({ ...stores(), handOver: handingOverIn({ redis, prefix, queues: broken }) })
    assert.notEqual(await redis.zscore(keys().outbox, left), null)
    assert.equal(await handOver(stores()), 1)
  })

  it('hands over again what has been outstanding for a minute and whose job is gone, and nothing else', async () => {
    const [lost, carried, young] = [await admitted('lost'), await admitted('carried'), await admitted('young')]
    for (const batchId of [lost, carried, young]) {
      await age(batchId, 5_000)
      assert.equal(await handOver(stores()), 1, 'each in a job of its own')
    }
    for (const batchId of [lost, young]) await queues.submissions.remove((await jobsOf(batchId))[0]!)
    for (const batchId of [lost, carried]) await age(batchId, MINUTE_MS + 1_000)
    const { handedOver } = await keepUp(stores(), 90)
    assert.equal(handedOver, 1)
    const counts = await Promise.all([lost, carried, young].map(async (batchId) => (await jobsOf(batchId)).length))
    assert.deepEqual(counts, [1, 1, 0])
    assert.equal((await keepUp(stores(), 90))['handedOver'], 0)
  })

  it('puts a begun replay on the books whose process died before it did, once, and in time', async () => {
    const submissionId = randomUUID()
    const [seconds, microseconds] = await redis.time()
    const number = Number(seconds) * 1_000_000 + Number(microseconds)
    const job = {
      version: JOB_VERSION,
      operation: 'create_feedback',
      workspaceId,
      submissionId,
      number,
      body: feedbackBody('replayed', { contact: { email: 'ada@example.com' } }),
    } as SubmissionJob
    await setAside(schema.sql, hashKey, { job, attempts: 8, reason: 'x' })
    const read = () => booksIn(redis, prefix).read({ workspaceId, batchId: submissionId })
    await finishReplays(stores(), 0)
    assert.equal(await read(), undefined, 'it is dead and stays dead')
    assert.equal((await markReplayed(schema.sql, workspaceId, submissionId)).outcome, 'queued')
    await finishReplays(stores(), MINUTE_MS)
    assert.equal(await read(), undefined, 'too early to tell')
    for (let time = 0; time < 2; time++) await finishReplays(stores(), 0)
    const batch = await read()
    assert.deepEqual([batch?.number, batch?.submissions.map(({ submission }) => submission)], [number, [job]])
    assert.equal(await redis.hget(keys().ledger, 'queued'), '1')
    const said = sayingsOf({ hashKey, workspaceId }, job).aboutKeys.map(({ keyId }) => compactId(keyId))
    assert.deepEqual((await redis.hkeys(keys().facts)).toSorted(), [...new Set(said)].toSorted())
    await age(submissionId, 5_000)
    assert.equal(await handOver(stores()), 1)
    assert.equal((await jobsOf(submissionId)).length, 1)
  })

  it('goes on at its times until it is stopped, says what it did, and survives what fails', async () => {
    const left = await admitted()
    await age(left, 60 * MINUTE_MS)
    const lines: [event: string, fields: object | undefined][] = []
    const upkeep = startUpkeep(stores(), {
      receiptDays: 90,
      log: (_level, event, fields) => lines.push([event, fields]),
    })
    await until('it is handed over', async () => (await jobsOf(left)).length === 1)
    await until('it says so', async () => lines.some(([event]) => event === 'upkeep'))
    upkeep.stop()
    assert.deepEqual(
      lines.filter(([event]) => event !== 'upkeep'),
      [],
    )
    const sql = (() => Promise.reject(new Error('away'))) as unknown as TestSchema['sql']
    const failing = startUpkeep(
      { ...stores(), sql },
      { receiptDays: 90, log: (_level, event, fields) => lines.push([event, fields]) },
    )
    await until('it says so', async () => lines.filter(([event]) => event === 'upkeep_failed').length >= 3)
    failing.stop()
  })

  it('forgets what was admitted for a workspace, or replayed, after it was deleted, and hands none of it over', async () => {
    const job = {
      version: JOB_VERSION,
      operation: 'create_feedback',
      workspaceId,
      submissionId: randomUUID(),
      number: 1,
      body: feedbackBody('replayed'),
    } as SubmissionJob
    await setAside(schema.sql, hashKey, { job, attempts: 8, reason: 'x' })
    await markReplayed(schema.sql, workspaceId, job.submissionId)
    const deleted = workspaceId
    await beginDeletion(schema.sql, deleted)
    await age(await admitted(), 4_500)
    workspaceId = (await createWorkspace(schema.sql, 'beside'))!.id
    await admitted()
    const kept = await redis.keys(`{${prefix}:${workspaceId}}:*`)
    const left = () => redis.keys(`{${prefix}:${deleted}}:*`)
    const late = (await left()).length
    assert.ok(late > 0 && kept.length > 0)
    await finishReplays(stores(), 0)
    await handOver(stores())
    const jobs = await queues.submissions.getJobs(['waiting', 'delayed'])
    const named = jobs.flatMap(({ data }) => (data as { batches: { workspaceId: string }[] }).batches)
    assert.ok(named.every((batch) => batch.workspaceId !== deleted))
    assert.equal((await keepUp(stores(), 90))['forgotten'], late)
    assert.deepEqual(await left(), [])
    assert.deepEqual((await redis.keys(`{${prefix}:${workspaceId}}:*`)).toSorted(), kept.toSorted())
    assert.equal((await keepUp(stores(), 90))['forgotten'], 0)
  })

  it('lets receipts go after their days, and keeps their totals', async () => {
    const insert = (days: number, state: string) => schema.sql`
      insert into submission (workspace_id, id, acceptance_number, operation, state, attempts, finished_at)
      values (${workspaceId}, ${randomUUID()}, 1, 'create_feedback', ${state}, 1, now() - make_interval(days => ${days}))`
    await insert(89, 'applied')
    await insert(91, 'applied')
    await insert(91, 'dead')
    assert.equal(await expireReceipts(schema.sql, 90), 1)
    const left = await schema.sql<{ state: string }[]>`
      select state from submission where workspace_id = ${workspaceId} order by state`
    assert.deepEqual(
      left.map(({ state }) => state),
      ['applied', 'dead'],
    )
    const [total] = await schema.sql<{ n: number }[]>`
      select submissions::int as n from ledger where state = 'applied' and workspace_id = ${workspaceId}`
    assert.equal(total!.n, 2)
  })
})
