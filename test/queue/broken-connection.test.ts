import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import type { BatchJob } from '../../contract/job.ts'
import { admissionKeys } from '../../queue/keys.ts'
import type { Admit } from '../../queue/admission.ts'
import { admissionsIn } from '../../queue/admit.ts'
import { handingOverIn, watchHandOvers } from '../../queue/hand-over.ts'
import { closeQueues, type JobQueues, openQueues } from '../../queue/job-queues.ts'
import { connectToAnswer } from '../../queue/connect-redis.ts'
import { queuedSubmissions } from '../../queue/queued-submissions.ts'
import { type LosingAnswers, losingAnswers } from '../support/losing-answers.ts'
import { asked, forgetKeys } from '../support/queue-room.ts'
import { testServers } from '../support/servers.ts'
import { until } from '../support/until.ts'

const HELD_MS = 10_000

describe('admissions that are in flight when their connection breaks', () => {
  const prefix = `t_${randomBytes(6).toString('hex')}`
  const workspaceId = randomUUID()
  const name = admissionKeys(prefix, workspaceId)
  let redis: Redis
  let between: LosingAnswers
  let ingress: Redis
  let queues: JobQueues
  let ingressQueues: JobQueues
  let admit: Admit
  let handOvers: ReturnType<typeof watchHandOvers>
  before(async () => {
    redis = new Redis(testServers().redisUrl)
    between = await losingAnswers(testServers().redisUrl)
    queues = openQueues(redis, prefix, () => {})
    ingress = connectToAnswer(between.url) as Redis
    ingress.on('error', () => {})
    await once(ingress, 'ready')
    ingressQueues = openQueues(ingress, prefix, () => {})
    handOvers = watchHandOvers(handingOverIn({ redis: ingress, prefix, queues: ingressQueues, notedEveryMs: 0 }))
    const { handOver } = handOvers
    admit = admissionsIn({ redis: ingress, prefix, handOver, findStoredKey: async () => null })
  })
  after(async () => {
    ingress.disconnect()
    between.stop()
    await closeQueues(ingressQueues)
    await closeQueues(queues)
    await forgetKeys(redis, prefix)
    await redis.quit()
  })

  const submit = () => admit(asked({ workspaceId }))
  const submitMany = (): Promise<unknown>[] => Array.from({ length: 40 }, submit)
  const allFail = async (submitted: readonly Promise<unknown>[]): Promise<void> => {
    const outcomes = await Promise.allSettled(submitted)
    assert.ok(outcomes.every(({ status }) => status === 'rejected'))
  }
  const accepted = async (): Promise<number> => Number(await redis.hget(name.ledger, 'accepted'))
  /** Admits again as soon as it is connected; what came before on this connection has been carried out by then. */
  const goesOn = async (): Promise<void> => {
    if (ingress.status !== 'ready') await once(ingress, 'ready')
    assert.equal((await submit()).outcome, 'admitted')
    await handOvers.ended()
  }
  /** Each on the books, once. Who handed over may have failed as well, and then it stays in the outbox. */
  const assertCounted = async (count: number): Promise<void> => {
    assert.equal(await accepted(), count)
    assert.equal(await redis.hget(name.ledger, 'queued'), String(count))
    const queued = await Array.fromAsync(queuedSubmissions(redis, prefix, workspaceId))
    assert.equal(new Set(queued.map(({ submissionId }) => submissionId)).size, count)
    const jobs = await queues.submissions.getWaiting()
    const carried = jobs.flatMap(({ data }) => (data as BatchJob).batches.map(({ batchId }) => batchId))
    const inOutbox = await redis.zrange(name.outbox, '0', '-1')
    assert.deepEqual(new Set([...carried, ...inOutbox]), new Set(await redis.zrange(name.outstanding, '0', '-1')))
  }

  it('fail, and are not carried out after it when they were not before', async () => {
    await goesOn()
    const counted = await accepted()
    const client = await ingress.client('ID')
    await redis.call('CLIENT', 'PAUSE', String(HELD_MS), 'WRITE')
    const submitted = submitMany()
    await until('they are in flight', async () => isHeld(String(await redis.client('LIST')), client))
    assert.equal(await redis.client('KILL', 'ID', client), 1)
    await allFail(submitted)
    await redis.call('CLIENT', 'UNPAUSE')
    await goesOn()
    await assertCounted(counted + 1)
  })

  it('fail, and are not carried out a second time when they were before', async () => {
    const counted = await accepted()
    between.loseAnswers()
    await allFail([submit()])
    await goesOn()
    await assertCounted(counted + 2)
  })

  it('were given up before, and are not carried out a second time either', async () => {
    const counted = await accepted()
    between.loseAnswers(2)
    await assert.rejects(submit(), /timed out/)
    await allFail([submit()])
    await goesOn()
    await assertCounted(counted + 3)
  })

  it('fail while nothing comes, and the next ones have another connection', async () => {
    const counted = await accepted()
    const former = await ingress.client('ID')
    between.loseAnswers(Infinity)
    const closed = new Promise((resolve) => ingress.once('close', resolve))
    await assert.rejects(submit(), /timed out/)
    await assert.rejects(submit())
    await closed
    between.loseAnswers(0)
    await goesOn()
    assert.notEqual(await ingress.client('ID'), former)
    await assertCounted(counted + 3)
  })
})

const isHeld = (clients: string, id: number): boolean =>
  clients.split('\n').some((line) => line.startsWith(`id=${id} `) && / flags=\S*b/.test(line))
