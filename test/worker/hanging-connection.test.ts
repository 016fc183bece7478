import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import type { Sql } from '../../db/connection/postgres.ts'
import { createWorkspace } from '../../db/workspaces/workspaces.ts'
import { openWorker, type QueueWorker } from '../../queue/jobs/open-worker.ts'
import { createProcessors } from '../../worker/processors.ts'
import { feedbackBody } from '../support/inject.ts'
import { requestFor, entered, openQueueRoom } from '../support/queue-room.ts'
import { connectToSchema, freshSchema, hashKey, type TestSchema } from '../support/schema.ts'
import { until } from '../support/until.ts'

const CONNECTIONS = 2
const ANSWER_WITHIN_MS = 500

describe('a worker with a hanging connection to Postgres', () => {
  const room = openQueueRoom()
  let workspaceId: string
  let schema: TestSchema
  /** Reads the stored rows through a connection outside the worker. */
  let sql: Sql
  let running: ReturnType<typeof createProcessors>
  let worker: QueueWorker
  before(async () => {
    schema = await freshSchema(CONNECTIONS)
    sql = connectToSchema(schema.name)
    workspaceId = (await createWorkspace(sql, 'hanging'))!.id
    running = createProcessors({
      ...room,
      logs: room.log,
      sql: schema.sql,
      hashKey,
      worker: 'w',
      allowedHosts: [],
      redoMs: () => 0,
      answerWithinMs: ANSWER_WITHIN_MS,
      metrics: { settled: () => {}, purged: () => {}, applyTime: () => {}, trackDeep: (work) => work() },
      tracing: undefined,
      log: () => {},
      stop: new AbortController().signal,
    })
    worker = openWorker('wake', running.processors.wake!, {
      connection: room.redis,
      prefix: room.prefix,
      concurrency: 4,
    })
  })
  after(async () => {
    await worker.close()
    await running.stop()
    await room.close()
    await sql.end()
    await schema.drop()
  })

  const submit = async (): Promise<string> => {
    const bodyText = JSON.stringify(feedbackBody('x'))
    const { submissionId } = entered(await room.admit(requestFor({ workspaceId, bodyText })))
    await room.wake.wake(workspaceId, { submissions: 1, isDeep: false })
    return submissionId
  }
  const isStored = async (id: string): Promise<boolean> =>
    (await sql`select from feedback where id = ${id}`).count === 1
  const stores = async (): Promise<void> => {
    const id = await submit()
    await until('the submission is stored', () => isStored(id))
  }

  it('saves the work of that connection once, through another connection', async () => {
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
    // The statement of the hanging connection runs only now, and must still find the schema.
    await until('the hanging statement has ended', async () => {
      const [activity] = await sql`
        select state = 'idle' and query_start > ${hungUntil} as ended from pg_stat_activity where pid = ${hanging}`
      return activity === undefined || activity['ended'] === true
    })
    const [counted] = await sql`select count(*)::int as feedback from feedback`
    assert.equal(counted!['feedback'], 1 + 2 * CONNECTIONS)
  })
})
