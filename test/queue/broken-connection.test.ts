import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { startRedis } from '../../cli/start/embedded/redis-server.ts'
import type { WakeJob } from '../../contract/jobs.ts'
import { createAdmit } from '../../queue/admission/admit.ts'
import type { Admit } from '../../queue/admission/call-admit.ts'
import { closeQueues, createWake, type JobQueues, openQueues, type Wake } from '../../queue/jobs/job-queues.ts'
import { connectToAnswer, connectToWork } from '../../queue/redis/connect-redis.ts'
import { readLogTotals } from '../../queue/log/log-totals.ts'
import { type LosingAnswers, losingAnswers } from '../support/between.ts'
import { openQueueRoom, requestFor, UNUSED } from '../support/queue-room.ts'
import { testServers } from '../support/servers.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { until } from '../support/until.ts'

const HELD_MS = 10_000

describe('admissions in flight when their connection breaks', () => {
  const room = openQueueRoom()
  const { redis, prefix } = room
  const workspaceId = randomUUID()
  let between: LosingAnswers
  let apiRedis: Redis
  let apiQueues: JobQueues
  let admit: Admit
  let wake: Wake
  before(async () => {
    between = await losingAnswers(testServers().redisUrl)
    apiRedis = connectToAnswer(between.url) as Redis
    apiRedis.on('error', () => {})
    await once(apiRedis, 'ready')
    apiQueues = openQueues(apiRedis, prefix)
    wake = createWake(apiQueues)
    admit = createAdmit({ redis: apiRedis, prefix, wake, findStoredKey: async () => UNUSED })
  })
  after(async () => {
    apiRedis.disconnect()
    between.stop()
    await closeQueues(apiQueues)
    await room.close()
  })

  const submit = () => admit(requestFor({ workspaceId }))
  const submitMany = (): Promise<unknown>[] => Array.from({ length: 40 }, submit)
  const allFail = async (submitted: readonly Promise<unknown>[]): Promise<void> => {
    const outcomes = await Promise.allSettled(submitted)
    assert.ok(outcomes.every(({ status }) => status === 'rejected'))
  }
  const accepted = async (): Promise<number> => (await readLogTotals(redis, prefix, [workspaceId]))[0]!.accepted
  /**
   * Admits again after the reconnection. By then Redis has carried out all commands that the former
   * connection delivered.
   */
  const goesOn = async (): Promise<void> => {
    if (apiRedis.status !== 'ready') await once(apiRedis, 'ready')
    assert.equal((await submit()).outcome, 'admitted')
    await wake.ended()
  }
  /** Each submission is in the log once, and a job wakes a worker. */
  const assertCounted = async (count: number): Promise<void> => {
    assert.equal(await accepted(), count)
    const waiting = await Array.fromAsync(room.log.readWaiting(workspaceId))
    assert.equal(waiting.length, count)
    assert.equal(new Set(waiting.map(({ submissionId }) => submissionId)).size, count)
    const jobs = await room.queues.wake.getWaiting()
    assert.ok(jobs.some(({ data }) => (data as WakeJob).workspaceIds.includes(workspaceId)))
  }

  it('fail, and are not carried out later if Redis had not carried them out', async () => {
    await goesOn()
    const counted = await accepted()
    const client = await apiRedis.client('ID')
    await redis.call('CLIENT', 'PAUSE', String(HELD_MS), 'WRITE')
    // The admissions can fail before the answer to `CLIENT KILL`.
    const failed = allFail(submitMany())
    await until('the admissions are in flight', async () => isHeld(String(await redis.client('LIST')), client))
    assert.equal(await redis.client('KILL', 'ID', client), 1)
    await failed
    await redis.call('CLIENT', 'UNPAUSE')
    await goesOn()
    await assertCounted(counted + 1)
  })

  it('fail, and are not carried out a second time if Redis had carried them out', async () => {
    const counted = await accepted()
    between.loseAnswers()
    await allFail([submit()])
    await goesOn()
    await assertCounted(counted + 2)
  })

  it('are not carried out a second time after a time-out', async () => {
    const counted = await accepted()
    between.loseAnswers(2)
    await assert.rejects(submit(), /timed out/)
    await allFail([submit()])
    await goesOn()
    await assertCounted(counted + 3)
  })

  it('fail while no answer comes, and the next admissions use another connection', async () => {
    const counted = await accepted()
    const former = await apiRedis.client('ID')
    between.loseAnswers(Infinity)
    const closed = new Promise((resolve) => apiRedis.once('close', resolve))
    await assert.rejects(submit(), /timed out/)
    await assert.rejects(submit())
    await closed
    between.loseAnswers(0)
    await goesOn()
    assert.notEqual(await apiRedis.client('ID'), former)
    await assertCounted(counted + 3)
  })
})

const isHeld = (clients: string, id: number): boolean =>
  clients.split('\n').some((line) => line.startsWith(`id=${id} `) && / flags=\S*b/.test(line))

const NOWHERE = ['127.0.0.1', 1] as const

describe('a master that has become a replica and keeps its connections', () => {
  const directory = temporaryDirectory()
  const running = new AsyncDisposableStack()
  let redis: Redis
  let url = ''
  before(async () => {
    const server = await startRedis({ dataDir: join(directory, 'redis') })
    running.defer(server.stop)
    url = server.url
    redis = new Redis(url)
    running.defer(() => redis.disconnect())
  })
  after(() => running.disposeAsync())

  const connected = async (connect: typeof connectToAnswer): Promise<Redis> => {
    const client = connect(url) as Redis
    client.on('error', () => {})
    running.defer(() => client.disconnect())
    await once(client, 'ready')
    return client
  }
  const untilLeft = (former: number): Promise<unknown> =>
    until('the connection is left', async () => !String(await redis.client('LIST')).includes(`id=${former} `))

  it('is left by the API, and refused commands fail', async () => {
    const client = await connected(connectToAnswer)
    const former = await client.client('ID')
    await redis.replicaof(...NOWHERE)
    await assert.rejects(client.incr('answered'), /READONLY/)
    await untilLeft(former)
    await redis.replicaof('NO', 'ONE')
    assert.equal(await redis.get('answered'), null)
  })

  it('is left by the worker, and refused commands are repeated until they are carried out', async () => {
    const client = await connected(connectToWork)
    const former = await client.client('ID')
    await redis.replicaof(...NOWHERE)
    const counted = client.incr('worked')
    await untilLeft(former)
    await redis.replicaof('NO', 'ONE')
    assert.equal(await counted, 1)
  })
})
