import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { Worker } from 'bullmq'
import { queuePrefix } from '../../../queue/jobs/job-queues.ts'
import { retag } from '../../../cli/retag/retag.ts'
import { openQueueRoom } from '../../support/queue-room.ts'
import { makeWorkspaces, sharedSchema } from '../../support/schema.ts'
import { until } from '../../support/until.ts'

const { sql } = await sharedSchema()
const FEEDBACK = 3_600
/** Each has up to 500 records. */
const JOBS = 8
const JOBS_AHEAD = 4
const ALL = { source: undefined, since: undefined, until: undefined, olderThanVersion: undefined }

describe('tagging again', () => {
  const room = openQueueRoom()
  after(() => room.close())

  it('adds the next job when a worker has finished a job, so that new records wait for few jobs', async () => {
    const workspaceId = randomUUID()
    await makeWorkspaces(sql, [workspaceId])
    await sql`
      insert into feedback (workspace_id, id, description, tags_generated, source, first_number, number, change_position)
      select ${workspaceId}, gen_random_uuid(), 'x', true, 'API', n, n, n from generate_series(1, ${FEEDBACK}) as n`
    const finished: number[] = []
    const waiting = () => room.queues.tagging.getWaitingCount()
    const result = retag({ sql, queues: room.queues }, { workspaceId, ...ALL }, (done) => finished.push(done))
    await until('some jobs wait', async () => (await waiting()) >= JOBS_AHEAD)
    /** The numbers of jobs that wait while a worker has a job. */
    const waitingBeside: number[] = []
    const finishJob = async (): Promise<number> => {
      await until(
        'the command has seen the end of the previous job',
        async () => finished.length === waitingBeside.length,
      )
      waitingBeside.push(await waiting())
      // The number of tagged records.
      return 1
    }
    const worker = new Worker(room.queues.tagging.name, finishJob, {
      connection: room.redis,
      prefix: queuePrefix(room.prefix, 'tagging'),
    })
    assert.deepEqual(await result, { tagged: JOBS, failed: 0 })
    assert.equal(finished.at(-1), FEEDBACK)
    await worker.close()
    assert.ok(Math.max(...waitingBeside) < JOBS_AHEAD, waitingBeside.join())
  })

  it('counts the records of a job as tagged if BullMQ has removed the job', async () => {
    const workspaceId = randomUUID()
    await makeWorkspaces(sql, [workspaceId])
    await sql`
      insert into feedback (workspace_id, id, description, tags_generated, source, first_number, number, change_position)
      values (${workspaceId}, gen_random_uuid(), 'x', true, 'API', 1, 1, 1)`
    const result = retag({ sql, queues: room.queues }, { workspaceId, ...ALL }, () => {})
    await until('the job waits', async () => (await room.queues.tagging.getWaitingCount()) === 1)
    await room.queues.tagging.drain()
    assert.deepEqual(await result, { tagged: 1, failed: 0 })
  })
})
