import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { after, before, beforeEach, describe, it } from 'node:test'
import { type Job, Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { BatchingWorker } from '../../queue/batching-worker.ts'
import { FINISHED_JOBS_KEPT, JOB_OPTIONS } from '../../contract/queues.ts'
import { addJobsIn, type JobsAtOnce, jobsAtOnceIn, KEPT_OF_ONE_CALL } from '../../queue/jobs-at-once.ts'
import { connectToWork, type RedisClient } from '../../queue/connect-redis.ts'
import { type LosingAnswers, losingAnswers } from '../support/losing-answers.ts'
import { testServers } from '../support/servers.ts'
import { until } from '../support/until.ts'

const LOCK_MS = 15_000

describe('many jobs with one call', () => {
  const prefix = `{t_${randomBytes(6).toString('hex')}}`
  let redis: Redis
  let queue: Queue
  before(() => {
    redis = new Redis(testServers().redisUrl, { maxRetriesPerRequest: null })
  })
  beforeEach(async () => {
    await queue?.close()
    queue = new Queue(`q${randomBytes(4).toString('hex')}`, { connection: redis, prefix })
  })
  after(async () => {
    await queue.close()
    for await (const keys of redis.scanStream({ match: `${prefix}:*`, count: 1_000 })) {
      if (keys.length > 0) await redis.unlink(keys as string[])
    }
    await redis.quit()
  })

  const toKey = (name: string): string => queue.toKey(name)
  const add = (ids: readonly string[]): Promise<void> =>
    addJobsIn(redis, toKey)(ids.map((id) => ({ id, name: 'kind', data: JSON.stringify({ id }) })))
  const ids = (count: number): string[] => Array.from({ length: count }, () => randomUUID())
  const held = (connection: RedisClient, token = 'me'): JobsAtOnce =>
    jobsAtOnceIn(connection, { toKey, token, lockMs: LOCK_MS, kept: FINISHED_JOBS_KEPT })
  /** Has a worker work until the queue is empty, and tells which jobs it got. */
  const working = async (
    process: (job: Job) => Promise<unknown>,
    { concurrency, while: enough }: { concurrency: number; while: () => Promise<unknown> },
  ): Promise<void> => {
    const worker = new BatchingWorker(queue.name, process, {
      connection: redis,
      prefix,
      concurrency,
      lockDuration: LOCK_MS,
    })
    worker.on('error', () => {})
    try {
      await enough()
    } finally {
      await worker.close()
    }
  }
  /** BullMQ names a worker's connection after its queue. */
  const isWaiting = async (): Promise<boolean> =>
    String(await redis.client('LIST'))
      .split('\n')
      .some((line) => line.includes(Buffer.from(queue.name).toString('base64')) && line.includes('cmd=bzpopmin'))
  const finished = async (): Promise<true | undefined> =>
    (await queue.getJobCountByTypes('waiting', 'active', 'delayed')) === 0 || undefined

  describe('are added', () => {
    it('as BullMQ adds them one by one', async () => {
      const [own, theirs] = ids(2) as [string, string]
      await add([own])
      await queue.add('kind', { id: theirs }, { ...JOB_OPTIONS, jobId: theirs })
      const [ours, bullmqs] = await Promise.all([queue.getJob(own), queue.getJob(theirs)])
      assert.deepEqual(ours!.data, { id: own })
      assert.equal(ours!.name, bullmqs!.name)
      assert.deepEqual({ ...ours!.opts, jobId: theirs }, bullmqs!.opts)
      assert.equal(typeof ours!.timestamp, typeof bullmqs!.timestamp)
      assert.deepEqual(
        (await queue.getWaiting()).map(({ id }) => id),
        [theirs, own].toReversed(),
      )
    })

    it('once, however often', async () => {
      const [first, second] = ids(2) as [string, string]
      await add([first])
      await add([first, second])
      assert.equal(await queue.getWaitingCount(), 2)
    })

    it('and wake a worker that waits for them', async () => {
      let got = 0
      await working(async () => got++, {
        concurrency: 10,
        while: async () => {
          await until('it waits', isWaiting)
          await add(ids(3))
          await until('it has them', finished)
        },
      })
      assert.equal(got, 3)
    })
  })

  describe('are worked on', () => {
    it('each once, by workers that take what they have hands for, in their order', async () => {
      const all = ids(1_234)
      await add(all)
      const got: string[] = []
      let inHand = 0
      let most = 0
      await working(
        async ({ id }) => {
          most = Math.max(most, ++inHand)
          got.push(id!)
          await new Promise((resolve) => setImmediate(resolve))
          inHand--
        },
        { concurrency: 150, while: () => until('all are done', finished) },
      )
      assert.deepEqual(got, all)
      assert.ok(most <= 150, `${most} at once`)
      const kept = await queue.getCompletedCount()
      assert.ok(kept >= 10 && kept <= FINISHED_JOBS_KEPT.count, `${kept} are kept`)
      assert.equal((await redis.keys(`${toKey('')}*`)).filter((key) => /:[0-9a-f-]{36}$/.test(key)).length, kept)
      const last = await queue.getJob(all.at(-1)!)
      assert.ok(last?.finishedOn && last.processedOn)
      assert.equal(last.attemptsMade, 1)
      assert.ok(last.finishedOn >= last.processedOn)
    })

    it('no more of them than can be held when they are large', async () => {
      const large = 'x'.repeat(1_000_000)
      await addJobsIn(redis, toKey)(ids(40).map((id) => ({ id, name: 'kind', data: JSON.stringify({ id, large }) })))
      let inHand = 0
      let most = 0
      let done = 0
      await working(
        async () => {
          most = Math.max(most, ++inHand)
          await until('many are in hand, or the last', async () => inHand >= 16 || done + inHand === 40)
          await new Promise((resolve) => setImmediate(resolve))
          inHand--
          done++
        },
        { concurrency: 100, while: () => until('all are done', finished) },
      )
      assert.equal(done, 40)
      assert.ok(most <= 18, `${most} at once`)
    })

    it('again when they fail, and their neighbours are not', async () => {
      const [bad, ...good] = ids(20) as [string, ...string[]]
      await add([...good.slice(0, 10), bad, ...good.slice(10)])
      const got = new Map<string, number>()
      await working(
        async ({ id }) => {
          got.set(id!, (got.get(id!) ?? 0) + 1)
          if (id === bad && got.get(bad) === 1) throw new Error('not now')
          return 'done'
        },
        { concurrency: 50, while: () => until('all are done', finished) },
      )
      assert.deepEqual(
        [bad, ...good].map((id) => got.get(id)),
        [2, ...good.map(() => 1)],
      )
      assert.equal((await queue.getJob(bad))?.attemptsMade, 2)
      assert.ok((await queue.getCompleted()).every(({ returnvalue }) => returnvalue === 'done'))
    })

    it('many of them again, together', async () => {
      const all = ids(20)
      await add(all)
      const got = new Map<string | undefined, number>()
      await working(
        async ({ id }) => {
          got.set(id, (got.get(id) ?? 0) + 1)
          if (got.get(id) === 1) throw new Error('not now')
        },
        { concurrency: 50, while: () => until('all are done', finished) },
      )
      assert.deepEqual(got, new Map(all.map((id) => [id, 2])))
      // Of more that one call finishes the others are gone, and it depends on the load how many come due together.
      assert.ok((await queue.getCompletedCount()) >= KEPT_OF_ONE_CALL)
    })

    it('when they are prioritized or delayed, in the way of BullMQ', async () => {
      await queue.add('kind', {}, { jobId: 'urgent-a', priority: 1 })
      await queue.add('kind', {}, { jobId: 'later-a', delay: 50 })
      const got: string[] = []
      await working(async ({ id }) => got.push(id!), { concurrency: 5, while: () => until('both are done', finished) })
      assert.deepEqual(got.toSorted(), ['later-a', 'urgent-a'])
    })

    it('not while the queue is paused', async () => {
      await queue.pause()
      await add(ids(5))
      let got = 0
      await working(async () => got++, {
        concurrency: 5,
        while: async () => {
          assert.equal(await held(redis).fetch(5), undefined)
          await queue.resume()
          assert.equal(got, 0)
          await until('they are done', finished)
        },
      })
      assert.equal(got, 5)
    })

    it('and given back by a worker that closes before it has begun with them', async () => {
      const all = ids(100)
      await add(all)
      const begun = Promise.withResolvers<void>()
      const go = Promise.withResolvers<void>()
      let got = 0
      const worker = new BatchingWorker(
        queue.name,
        async () => {
          if (++got === 1) begun.resolve()
          await go.promise
        },
        { connection: redis, prefix, concurrency: 100, lockDuration: LOCK_MS },
      )
      await begun.promise
      const closing = worker.close()
      go.resolve()
      await closing
      assert.equal(await queue.getActiveCount(), 0)
      assert.equal(await queue.getWaitingCount(), 100 - got)
    })
  })

  it('tells of those that are held by another or by nobody that they are not finished', async () => {
    const [own, others, waiting] = ids(3) as [string, string, string]
    await add([own, others, waiting])
    await held(redis).fetch(1)
    await held(redis, 'somebody else').fetch(1)
    const done = [own, others, waiting, 'unknown'].map((id) => ({ id, result: '1', attempts: 1 }))
    assert.deepEqual(await held(redis).finish(done), [true, false, false, true])
    assert.deepEqual(
      (await queue.getCompleted()).map(({ id }) => id),
      [own],
    )
  })

  describe('whose answer is lost with the connection', () => {
    let between: LosingAnswers
    let connection: RedisClient
    before(async () => {
      between = await losingAnswers(testServers().redisUrl)
      connection = connectToWork(between.url)
      connection.on('error', () => {})
      await once(connection, 'ready')
    })
    after(() => {
      connection.disconnect()
      between.stop()
    })

    it('are handed over once more', async () => {
      const all = ids(5)
      await add(all)
      const { fetch } = held(connection)
      between.loseAnswers()
      const first = await fetch(3)
      assert.deepEqual(
        first?.jobs.map(({ id }) => id),
        all.slice(0, 3),
      )
      assert.equal(await queue.getActiveCount(), 3)
      assert.deepEqual(
        (await fetch(3))?.jobs.map(({ id }) => id),
        all.slice(3),
      )
    })

    it('are finished once', async () => {
      const all = ids(3)
      await add(all)
      const { fetch, finish } = held(connection)
      await fetch(3)
      between.loseAnswers()
      assert.deepEqual(await finish(all.map((id) => ({ id, result: '1', attempts: 1 }))), [true, true, true])
      assert.equal(await queue.getCompletedCount(), 3)
    })
  })
})
