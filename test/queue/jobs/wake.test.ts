import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, beforeEach, describe, it } from 'node:test'
import type { WakeJob } from '../../../contract/jobs.ts'
import {
  addRemovals,
  closeQueues,
  createWake,
  type JobQueues,
  openQueues,
  type Wake,
} from '../../../queue/jobs/job-queues.ts'
import { openWorker, type QueueWorker } from '../../../queue/jobs/open-worker.ts'
import { openQueueRoom } from '../../support/queue-room.ts'
import { until } from '../../support/until.ts'

const SHARED = { submissions: 1, isDeep: false }
const DEEP = { submissions: 300, isDeep: true }

describe('waking workers', () => {
  const room = openQueueRoom()
  /** Queues that no other test uses. */
  let prefix: string
  let queues: JobQueues
  let wake: Wake
  beforeEach(() => {
    prefix = `${room.prefix}_${randomUUID()}`
    queues = openQueues(room.redis, prefix)
    wake = createWake(queues)
  })
  afterEach(async () => {
    await Promise.all(Object.values(queues).map((queue) => queue.obliterate({ force: true })))
    await closeQueues(queues)
  })
  after(() => room.close())

  const jobs = async (name: 'wake' | 'backlog') =>
    (await queues[name].getWaiting()).map(({ name: text, data }) => ({ text, ids: (data as WakeJob).workspaceIds }))

  it('adds one job for all workspaces that are woken together, and names the job by its size', async () => {
    const [one, other] = [randomUUID(), randomUUID()]
    await Promise.all([wake.wake(one, SHARED), wake.wake(other, { ...SHARED, submissions: 4 }), wake.wake(one, SHARED)])
    assert.deepEqual(await jobs('wake'), [{ text: '2 workspaces, 6 submissions', ids: [one, other] }])
    await wake.wake(one, SHARED)
    assert.deepEqual((await jobs('wake')).map(({ text }) => text).toSorted(), [
      '1 workspace, 1 submission',
      '2 workspaces, 6 submissions',
    ])
  })

  it('names at most a hundred workspaces in a job', async () => {
    for (let count = 0; count < 220; count++) void wake.wake(randomUUID(), SHARED)
    await wake.ended()
    assert.deepEqual(
      (await jobs('wake')).map(({ ids }) => ids.length).toSorted((a, b) => a - b),
      [20, 100, 100],
    )
  })

  it('adds a separate job for each deep log, unless a job of this log waits', async () => {
    const [one, other] = [randomUUID(), randomUUID()]
    await Promise.all([wake.wake(one, DEEP), wake.wake(other, DEEP)])
    await wake.wake(one, DEEP)
    assert.deepEqual((await jobs('backlog')).map(({ ids }) => ids.join()).toSorted(), [one, other].toSorted())
    assert.deepEqual(await jobs('wake'), [])
  })

  it('adds a job for a deep log even while a job of this log is active, so that no wake is lost', async () => {
    const workspaceId = randomUUID()
    const begun: (() => void)[] = []
    const connection = room.redis.duplicate()
    const worker: QueueWorker = openWorker('backlog', () => new Promise<void>((end) => void begun.push(end)), {
      connection,
      prefix,
      concurrency: 1,
    })
    await wake.wake(workspaceId, DEEP)
    await until('the first job has begun', async () => begun.length === 1)
    await wake.wake(workspaceId, DEEP)
    await wake.wake(workspaceId, DEEP)
    assert.equal((await jobs('backlog')).length, 1)
    begun[0]!()
    await until('the second job has begun', async () => begun.length === 2)
    begun[1]!()
    await worker.close()
    connection.disconnect()
    assert.deepEqual(await jobs('backlog'), [])
  })

  it('never rejects, even if no job can be added', async () => {
    const broken = { add: () => Promise.reject(new Error('away')), addBulk: () => Promise.reject(new Error('away')) }
    const failing = createWake({ wake: broken, backlog: broken } as unknown as JobQueues)
    void failing.wake(randomUUID(), DEEP)
    await failing.wake(randomUUID(), SHARED)
    await failing.ended()
  })

  it('keeps all failed jobs of tagging for operators, and 1,000 failed jobs of each other queue', async () => {
    const kept = (['wake', 'backlog', 'removal', 'tagging', 'webhook'] as const).map(async (name) => {
      const worker = openWorker(name, async () => {}, { connection: room.redis, prefix: room.prefix, concurrency: 1 })
      await worker.close()
      return [name, worker.opts.removeOnFail?.count]
    })
    const few = 1_000
    assert.deepEqual(Object.fromEntries(await Promise.all(kept)), {
      wake: few,
      backlog: few,
      removal: few,
      tagging: undefined,
      webhook: few,
    })
  })

  it('adds one removal job for each purge, even if asked repeatedly', async () => {
    const removal = { workspaceId: randomUUID(), purgeId: randomUUID() }
    await addRemovals(queues, [])
    await addRemovals(queues, [removal, { ...removal, purgeId: randomUUID() }])
    await addRemovals(queues, [removal])
    assert.equal(await queues.removal.getWaitingCount(), 2)
  })
})
