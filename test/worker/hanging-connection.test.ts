import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import type { Admit } from '../../queue/admission.ts'
import { admissionsIn } from '../../queue/admit.ts'
import { handingOverIn } from '../../queue/hand-over.ts'
import { closeQueues, type JobQueues, openQueues } from '../../queue/job-queues.ts'
import { openWorker, type QueueWorker } from '../../queue/open-worker.ts'
import { connectPostgres, type Sql } from '../../db/postgres.ts'
import { createProcessors } from '../../worker/processors.ts'
import { feedbackBody } from '../support/below-the-ingress.ts'
import { hashKey } from '../support/deliveries.ts'
import { freshSchema, type TestSchema } from '../support/schema.ts'
import { testServers } from '../support/servers.ts'
import { until } from '../support/until.ts'

const CONNECTIONS = 2
const ANSWER_WITHIN_MS = 500

describe('a worker one of whose connections to Postgres hangs', () => {
  const prefix = `t_${randomBytes(6).toString('hex')}`
  const workspaceId = randomUUID()
  let schema: TestSchema
  /** Looks at what is stored, beside the worker's connections. */
  let sql: Sql
  let redis: Redis
  let queues: JobQueues
  let worker: QueueWorker
  let admit: Admit
  before(async () => {
    schema = await freshSchema(CONNECTIONS)
    const options = { connections: 1, statementTimeoutMs: 60_000, applicationName: 'test', schema: schema.name }
    sql = connectPostgres(testServers().databaseUrl, options)
    redis = new Redis(testServers().redisUrl, { maxRetriesPerRequest: null })
    queues = openQueues(redis, prefix, () => {})
    const handOver = handingOverIn({ redis, prefix, queues })
    admit = admissionsIn({ redis, prefix, handOver, findStoredKey: async () => null })
    const processors = createProcessors({
      sql: schema.sql,
      redis,
      prefix,
      queues,
      hashKey,
      handOver,
      mostInHand: 100,
      queuesServed: ['submissions'],
      onLaneTime: () => {},
      onSettled: () => {},
      answerWithinMs: ANSWER_WITHIN_MS,
      tracing: undefined,
      log: () => {},
      stop: new AbortController().signal,
    })
    worker = openWorker('submissions', processors.submissions, { connection: redis, prefix, concurrency: 10 })
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
    const admission = await admit({
      workspaceId,
      operation: 'create_feedback',
      bodyText: JSON.stringify(feedbackBody('x')),
      saidBy: () => ({ sayings: { newIds: [], aboutKeys: [] }, lookUp: [] }),
    })
    if (admission.outcome !== 'admitted') throw new Error(`It was ${admission.outcome}.`)
    return admission.submissionId
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
    let hungUntil: Date
    try {
      for (let submitted = 0; submitted < 2 * CONNECTIONS; submitted++) await stores()
      ;[{ now: hungUntil }] = await sql<[{ now: Date }]>`select clock_timestamp() as now`
    } finally {
      process.kill(hanging, 'SIGCONT')
    }
    // It begins only now, and would meet the end of its schema.
    await until('what hung has ended', async () => {
      const [activity] = await sql`
        select state = 'idle' and query_start > ${hungUntil} as ended from pg_stat_activity where pid = ${hanging}`
      return activity === undefined || activity['ended'] === true
    })
    const [told] = await sql`select count(*)::int as feedback from feedback`
    assert.equal(told!['feedback'], 1 + 2 * CONNECTIONS)
  })
})
