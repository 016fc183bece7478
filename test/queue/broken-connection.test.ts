import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { admissionKeys } from '../../queue/keys.ts'
import type { Admit } from '../../queue/admission.ts'
import { admissionsIn } from '../../queue/admit.ts'
import { closeQueues, type JobQueues, openQueues, queueingIn } from '../../queue/job-queues.ts'
import { connectToAnswer } from '../../queue/connect-redis.ts'
import { type LosingAnswers, losingAnswers } from '../support/losing-answers.ts'
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
  let admit: Admit
  before(async () => {
    redis = new Redis(testServers().redisUrl)
    between = await losingAnswers(testServers().redisUrl)
    queues = openQueues(redis, prefix, () => {})
    ingress = connectToAnswer(between.url) as Redis
    ingress.on('error', () => {})
    await once(ingress, 'ready')
    admit = admissionsIn(ingress, prefix, queueingIn(ingress, queues))
  })
  after(async () => {
    ingress.disconnect()
    between.stop()
    await closeQueues(queues)
    for await (const keys of redis.scanStream({ match: `{${prefix}:*`, count: 1_000 })) {
      if (keys.length > 0) await redis.unlink(keys as string[])
    }
    await redis.quit()
  })

  const submit = () =>
    admit({
      workspaceId,
      operation: 'create_feedback',
      submissionId: randomUUID(),
      job: JSON.stringify({ body: 'x' }),
      sayings: { newIds: [], aboutKeys: [] },
      lookUp: [],
    })
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
  }
  const assertCounted = async (count: number): Promise<void> => {
    assert.equal(await accepted(), count)
    assert.equal(await redis.zcard(name.outstanding), count)
    assert.equal(await queues.feedback.getWaitingCount(), count)
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
    between.loseAnswers(3)
    for (let givenUp = 0; givenUp < 2; givenUp++) await assert.rejects(submit(), /timed out/)
    await allFail([submit()])
    await goesOn()
    await assertCounted(counted + 4)
  })
})

const isHeld = (clients: string, id: number): boolean =>
  clients.split('\n').some((line) => line.startsWith(`id=${id} `) && / flags=\S*b/.test(line))
