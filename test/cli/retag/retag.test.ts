import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { retag } from '../../../cli/retag/retag.ts'
import { openQueueRoom } from '../../support/queue-room.ts'
import { makeWorkspaces, sharedSchema } from '../../support/schema.ts'
import { until } from '../../support/until.ts'

const { sql } = await sharedSchema()
const FEEDBACK = 3_600
/** Each has up to 500 records. */
const JOBS = 8
const JOBS_AHEAD = 4

describe('tagging again', () => {
  const room = openQueueRoom()
  after(() => room.close())

  it('adds the next job when a worker has finished one, so that tags of new records wait for a few jobs', async () => {
    const workspaceId = randomUUID()
    await makeWorkspaces(sql, [workspaceId])
    await sql`
      insert into feedback (workspace_id, id, description, tags_generated, source, first_number, number, change_position)
      select ${workspaceId}, gen_random_uuid(), 'x', true, 'API', n, n, n from generate_series(1, ${FEEDBACK}) as n`
    const finished: number[] = []
    const all = { workspaceId, source: undefined, since: undefined, until: undefined, olderThanVersion: undefined }
    const result = retag({ sql, queues: room.queues }, all, (done) => finished.push(done))
    const { token, take, close } = await room.takeJobs('tagging')
    const waiting = () => room.queues.tagging.getWaitingCount()
    await until('some jobs wait', async () => (await waiting()) >= JOBS_AHEAD)
    for (let job = 1; job <= JOBS; job++) {
      let taken: Awaited<ReturnType<typeof take>>
      await until('a job waits', async () => (taken = await take()) !== undefined)
      await taken!.moveToCompleted(1, token, false)
      await until('the command has seen its end', async () => finished.length === job)
      assert.ok((await waiting()) <= JOBS_AHEAD)
    }
    assert.deepEqual(await result, { kept: JOBS, failed: 0 })
    assert.equal(finished.at(-1), FEEDBACK)
    await close()
  })
})
