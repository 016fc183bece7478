import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { admissionsIn } from '../../queue/admit.ts'
import { barrierIn } from '../../queue/barrier.ts'
import { BatchingWorker } from '../../queue/batching-worker.ts'
import { JOB_VERSION } from '../../contract/job.ts'
import { FINISHED_JOBS_KEPT, queuePrefix } from '../../contract/queues.ts'
import { closeQueues, forgetBodiesIn, type JobQueues, openQueues, queueingIn } from '../../queue/job-queues.ts'
import { connectPostgres, type Sql } from '../../db/postgres.ts'
import { settleJobsIn } from '../../queue/settle-jobs.ts'
import { openBooksIn } from '../../queue/open-books.ts'
import { createProcessors } from '../../worker/processors.ts'
import { hashKey } from '../support/deliveries.ts'
import { freshSchema, type TestSchema } from '../support/schema.ts'
import { testServers } from '../support/servers.ts'
import { until } from '../support/until.ts'

const CONNECTIONS = 2
const ANSWER_WITHIN_MS = 500
const LOCK_MS = 15_000

describe('a worker one of whose connections to Postgres hangs', () => {
  const prefix = `t_${randomBytes(6).toString('hex')}`
  const workspaceId = randomUUID()
  let schema: TestSchema
  /** Looks at what is stored, beside the worker's connections. */
  let sql: Sql
  let redis: Redis
  let queues: JobQueues
  let worker: BatchingWorker
  before(async () => {
    schema = await freshSchema(CONNECTIONS)
    const options = { connections: 1, statementTimeoutMs: 60_000, applicationName: 'test', schema: schema.name }
    sql = connectPostgres(testServers().databaseUrl, options)
    redis = new Redis(testServers().redisUrl, { maxRetriesPerRequest: null })
    queues = openQueues(redis, prefix, () => {})
    const settlement = openBooksIn(redis, prefix)
    const forgetBodies = forgetBodiesIn(redis, queues)
    const unexpected = (): never => assert.fail('Nothing here asks for it.')
    const processors = createProcessors({
      sql: schema.sql,
      hashKey,
      settlement,
      readBarrier: barrierIn(redis, prefix),
      bringForward: unexpected,
      enqueueTagging: async () => {},
      forgetBodies,
      settleJobs: settleJobsIn({ redis, prefix, queues, settlement, forgetBodies }),
      clearBooks: unexpected,
      finishPurge: unexpected,
      answerWithinMs: ANSWER_WITHIN_MS,
      tracing: undefined,
      log: () => {},
      stop: new AbortController().signal,
    })
    worker = new BatchingWorker('feedback', processors.feedback, {
      connection: redis,
      prefix: queuePrefix(prefix, 'feedback'),
      concurrency: 10,
      removeOnComplete: FINISHED_JOBS_KEPT,
      lockDuration: LOCK_MS,
    })
  })
  after(async () => {
    await worker.close()
    await closeQueues(queues)
    for await (const keys of redis.scanStream({ match: `{${prefix}:*`, count: 1_000 })) {
      if ((keys as string[]).length > 0) await redis.unlink(keys as string[])
    }
    await redis.quit()
    await sql.end()
    await schema.drop()
  })

  const submit = async (): Promise<string> => {
    const submissionId = randomUUID()
    const body = { description: 'x', isExternalContactId: false, isExternalAccountId: false }
    const asked = { workspaceId, operation: 'create_feedback', submissionId } as const
    const job = JSON.stringify({ version: JOB_VERSION, ...asked, body })
    const admit = admissionsIn(redis, prefix, queueingIn(redis, queues))
    await admit({ ...asked, sayings: { newIds: [], aboutKeys: [] }, lookUp: [], job })
    return submissionId
  }
  const isStored = async (id: string): Promise<boolean> =>
    (await sql`select from feedback where id = ${id}`).count === 1
  const stores = async (): Promise<void> => {
    const id = await submit()
    await until('it is stored', () => isStored(id))
  }

  it('stores what was sent on that one by another, once', async () => {
    await stores()
    const [{ pid: hanging }] = await schema.sql<[{ pid: number }]>`select pg_backend_pid() as pid`
    process.kill(hanging, 'SIGSTOP')
    try {
      for (let submitted = 0; submitted < 2 * CONNECTIONS; submitted++) await stores()
    } finally {
      process.kill(hanging, 'SIGCONT')
    }
    const [told] = await sql`select count(*)::int as feedback from feedback`
    assert.equal(told!['feedback'], 1 + 2 * CONNECTIONS)
  })
})
