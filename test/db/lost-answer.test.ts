import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { admissionKeys } from '../../db/admission-keys.ts'
import { admissionsIn, type Admit } from '../../db/admission.ts'
import { connectToAnswer, type RedisClient } from '../../db/redis.ts'
import { type LosingAnswers, losingAnswers } from '../support/losing-answers.ts'
import { testServers } from '../support/servers.ts'

const workspaceId = randomUUID()

describe('an admission whose answer is lost with the connection', () => {
  const prefix = `t_${randomBytes(6).toString('hex')}`
  const name = admissionKeys(prefix, workspaceId)
  let redis: Redis
  let between: LosingAnswers
  let ingress: RedisClient
  let admit: Admit
  before(async () => {
    redis = new Redis(testServers().redisUrl)
    between = await losingAnswers(testServers().redisUrl)
    ingress = connectToAnswer(between.url)
    ingress.on('error', () => {})
    await once(ingress, 'ready')
    admit = admissionsIn(ingress, prefix, async () => true)
  })
  after(async () => {
    ingress.disconnect()
    between.stop()
    const idempotency = ['first', 'second'].map((key) => name.idempotency('create_feedback', key))
    await redis.unlink(name.number, name.outstanding, name.ledger, name.bucket('create_feedback'), ...idempotency)
    await redis.quit()
  })

  const submit = (key: string) =>
    admit({
      workspaceId,
      operation: 'create_feedback',
      submissionId: randomUUID(),
      limit: { tokens: 10, windowMs: 60_000 },
      idempotency: { key, body: 'x' },
      pending: { exists: [], said: [] },
      lookUp: [],
    })

  it('is told once more, and counted once', async () => {
    assert.equal((await submit('first')).outcome, 'admitted')
    between.loseNextAnswer()
    const again = await submit('second')
    assert.ok(again.outcome === 'admitted', again.outcome)
    assert.equal(again.bucket?.remaining, 8)
    const [, score] = await redis.zrange(name.outstanding, '-1', '-1', 'WITHSCORES')
    assert.equal(again.number, Number(score))
    assert.equal(await redis.zcard(name.outstanding), 2)
    assert.equal(await redis.hget(name.ledger, 'accepted'), '2')
    assert.equal(await redis.llen(name.bucket('create_feedback')), 2)
  })
})
