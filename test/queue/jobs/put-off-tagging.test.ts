import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, describe, it } from 'node:test'
import type { TaggingJob } from '../../../contract/jobs.ts'
import { createPutOffTagging, TEXTS_OF_A_JOB } from '../../../queue/jobs/put-off-tagging.ts'
import { openQueueRoom } from '../../support/queue-room.ts'

describe('tagging that waits for further texts', () => {
  const room = openQueueRoom()
  after(() => room.close())
  afterEach(() => room.queues.tagging.drain(true))

  const workspaceId = randomUUID()
  const idsOf = (count: number): string[] => Array.from({ length: count }, () => randomUUID())
  const jobFor = (feedbackIds: string[], more: Partial<TaggingJob> = {}): TaggingJob => ({
    workspaceId,
    feedbackIds,
    conversationIds: [],
    ...more,
  })
  const jobsIn = async (state: 'delayed' | 'waiting'): Promise<TaggingJob[]> =>
    (await room.queues.tagging.getJobs([state])).map(({ data }) => data as TaggingJob)

  it('joins the texts of one workspace in one job, and keeps those of another apart', async () => {
    const add = createPutOffTagging(room.queues)
    const [[a, b, c], conversationIds] = [idsOf(3), idsOf(1)]
    const other = randomUUID()
    await add([jobFor([a!], { traceparents: ['first'] })])
    await add([jobFor([b!, a!]), jobFor([c!], { workspaceId: other })])
    await add([jobFor([], { conversationIds, traceparents: ['second'] })])
    const jobs = await jobsIn('delayed')
    assert.deepEqual(
      new Map(jobs.map((job) => [job.workspaceId, job])),
      new Map([
        [workspaceId, jobFor([a!, b!], { conversationIds, traceparents: ['first', 'second'] })],
        [other, jobFor([c!], { workspaceId: other })],
      ]),
    )
  })

  it('does not wait with many texts, and joins no more than a job may have', async () => {
    const add = createPutOffTagging(room.queues)
    const many = jobFor(idsOf(TEXTS_OF_A_JOB))
    const [few, nearlyMany] = [jobFor(idsOf(2)), jobFor(idsOf(TEXTS_OF_A_JOB - 1))]
    await add([many])
    await add([few])
    await add([nearlyMany])
    assert.deepEqual(await jobsIn('waiting'), [many])
    assert.deepEqual(new Set(await jobsIn('delayed')), new Set([few, nearlyMany]))
  })

  for (const [what, begin] of [
    ['begun', async (id: string) => (await room.queues.tagging.getJob(id))!.promote()],
    ['been removed', async (id: string) => (await room.queues.tagging.getJob(id))!.remove()],
  ] as const) {
    it(`adds another job if the first one has ${what}`, async () => {
      const add = createPutOffTagging(room.queues)
      const [a, b] = idsOf(2)
      await add([jobFor([a!])])
      const [first] = await room.queues.tagging.getJobs(['delayed'])
      await begin(first!.id!)
      await add([jobFor([b!])])
      assert.deepEqual(await jobsIn('delayed'), [jobFor([b!])])
    })
  }
})
