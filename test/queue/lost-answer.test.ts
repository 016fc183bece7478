import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { admissionKeys } from '../../queue/admission-keys.ts'
import { admissionsIn, type Admit } from '../../queue/admission.ts'
import { closeQueues, type JobQueues, openQueues, queueingIn } from '../../queue/job-queues.ts'
import { connectToAnswer, type RedisClient } from '../../queue/redis.ts'
import { type LosingAnswers, losingAnswers } from '../support/losing-answers.ts'
import { testServers } from '../support/servers.ts'
import { until } from '../support/until.ts'

const workspaceId = randomUUID()

describe('an admission whose answer is lost with the connection', () => {
  const prefix = `t_${randomBytes(6).toString('hex')}`
  const name = admissionKeys(prefix, workspaceId)
  let redis: Redis
  let between: LosingAnswers
  let ingress: RedisClient
  let queues: JobQueues
  let admit: Admit
  before(async () => {
    redis = new Redis(testServers().redisUrl)
    between = await losingAnswers(testServers().redisUrl)
    queues = openQueues(redis, prefix, () => {})
    ingress = connectToAnswer(between.url)
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

  const submit = (key: string | undefined, { size = 1, tokens = 10 } = {}) =>
    admit({
      workspaceId,
      operation: 'create_feedback',
      submissionId: randomUUID(),
      limit: { tokens, windowMs: 60_000 },
      idempotency: key === undefined ? undefined : { key, body: 'x' },
      job: JSON.stringify({ body: 'x'.repeat(size) }),
      sayings: { newIds: [], aboutKeys: [] },
      lookUp: [],
    })

  it('is told once more, and counted once', async () => {
    const first = await submit('first')
    assert.ok(first.outcome === 'admitted')
    between.loseAnswers()
    const again = await submit('second')
    assert.ok(again.outcome === 'admitted', again.outcome)
    assert.equal(again.bucket?.remaining, 8)
    const [, score] = await redis.zrange(name.outstanding, '-1', '-1', 'WITHSCORES')
    assert.equal(again.number, Number(score))
    assert.equal(await redis.zcard(name.outstanding), 2)
    assert.equal(await redis.hget(name.ledger, 'accepted'), '2')
    assert.equal(await redis.llen(name.bucket('create_feedback')), 2)
    const waiting = await queues.feedback.getWaiting()
    assert.deepEqual(
      waiting.map(({ data }) => (data as { number: number }).number).toSorted((a, b) => a - b),
      [first.number, again.number],
    )
  })

  it('is counted once also when it was settled before it is told', async () => {
    const accepted = await redis.hget(name.ledger, 'accepted')
    const others = new Set(await redis.zrange(name.outstanding, '0', '-1'))
    between.loseAnswers()
    const again = submit('third')
    await until('it has entered and is settled', async () => {
      const own = (await redis.zrange(name.outstanding, '0', '-1')).filter((id) => !others.has(id))
      return own.length > 0 && (await redis.zrem(name.outstanding, ...own)) > 0
    })
    assert.equal((await again).outcome, 'admitted')
    assert.equal(await redis.hget(name.ledger, 'accepted'), String(Number(accepted) + 1))
  })

  it('is counted once also when another is on its way at the same time', async () => {
    const accepted = Number(await redis.hget(name.ledger, 'accepted'))
    between.loseAnswers()
    const together = 40
    const admissions = await Promise.all(
      Array.from({ length: together }, (_, index) => submit(`together ${index}`, { tokens: 1_000 })),
    )
    const numbers = admissions.map((admission) => (admission.outcome === 'admitted' ? admission.number : 0))
    assert.equal(new Set(numbers).size, together)
    assert.equal(Number(await redis.hget(name.ledger, 'accepted')), accepted + together)
    const waiting = (await queues.feedback.getWaiting()).map(({ data }) => (data as { number: number }).number)
    assert.deepEqual(
      waiting.filter((number) => numbers.includes(number)).toSorted((a, b) => a - b),
      numbers.toSorted((a, b) => a - b),
    )
  })

  it('is counted once also when it was given up before the connection was lost', async () => {
    const accepted = Number(await redis.hget(name.ledger, 'accepted'))
    const waiting = await queues.feedback.getWaitingCount()
    between.loseAnswers(3)
    for (let givenUp = 0; givenUp < 2; givenUp++) {
      await assert.rejects(submit(undefined, { tokens: 1_000 }), /timed out/)
    }
    assert.equal((await submit(undefined, { tokens: 1_000 })).outcome, 'admitted')
    assert.equal(Number(await redis.hget(name.ledger, 'accepted')), accepted + 3)
    assert.equal(await queues.feedback.getWaitingCount(), waiting + 3)
  })

  it('is queued once when its job is too large to come along', async () => {
    const admission = await submit('large', { size: 100_000, tokens: 1_000 })
    assert.ok(admission.outcome === 'admitted')
    const numbers = (await queues.feedback.getWaiting()).map(({ data }) => (data as { number: number }).number)
    assert.equal(numbers.filter((number) => number === admission.number).length, 1)
  })
})
