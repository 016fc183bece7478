import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { workspaceKeys } from '../../queue/keys.ts'
import { holdWork, resumeWork } from '../support/hold-work.ts'
import { readLedger } from '../support/ledgers.ts'
import { startProcess } from '../support/service-process.ts'
import { type Answer, submissionIdOf } from '../support/service.ts'
import { idleService, type SharedService, sharedService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

const [idle, working] = [await idleService(), await sharedService()]
after(() => Promise.all([idle.stop(), working.stop()]))

const send = (
  service: SharedService,
  key: string,
  { description = 'x', api = 0 }: { description?: string; api?: number } = {},
): Promise<Answer> => {
  const body = { description, contact: { email: `${key}@example.com` } }
  return service.post('/feedbacks', body, { api, headers: { 'Idempotency-Key': key } })
}

const storedWith = async ({ sql }: SharedService, description: string): Promise<number> =>
  (await sql`select from feedback where description = ${description}`).count

describe('an idempotency key while no worker runs', () => {
  const service = idle

  it('gets the same answer from each API process, and its submission is applied once when a worker starts', async () => {
    const first = await send(service, 'waiting', { description: 'waiting' })
    assert.equal(first.status, 201, first.text)
    for (const api of [0, 1, 0]) {
      const again = await send(service, 'waiting', { description: 'waiting', api })
      assert.deepEqual([again.status, submissionIdOf(again), again.text], [201, submissionIdOf(first), first.text])
    }
    assert.equal((await send(service, 'waiting', { description: 'another' })).status, 422)
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, at) => send(service, 'at-once', { description: 'at once', api: at % 2 })),
    )
    assert.deepEqual([...new Set(all.map(({ status }) => status))], [201], 'no request is put off')
    assert.equal(new Set(all.map(submissionIdOf)).size, 1)
    const sendAll = () => Promise.all(Array.from({ length: 60 }, (_, at) => send(service, `many-${at}`)))
    const many = await sendAll()
    const ownAnswers = (answers: readonly Answer[]) => answers.map((answer) => [submissionIdOf(answer), answer.text])
    assert.equal(new Set(many.map(({ body }) => String(body.feedback.customerId))).size, many.length)
    assert.deepEqual(ownAnswers(await sendAll()), ownAnswers(many), 'each request gets its first answer again')
    const worker = await startProcess('worker/main.ts', 'working', service.environment)
    try {
      for (const answer of [first, all[0]!]) assert.equal(await service.settled(answer), 'applied')
      assert.deepEqual([await storedWith(service, 'waiting'), await storedWith(service, 'at once')], [1, 1])
    } finally {
      await worker.stop()
    }
  })
})

describe('an idempotency key of a settled submission', () => {
  const service = working

  const keys = () => workspaceKeys(service.redisPrefix, service.workspaceId)
  /** Submits with the key, and waits until no submission is queued. */
  const settled = async (key: string, options: Parameters<typeof send>[2]): Promise<Answer> => {
    const answer = await send(service, key, options)
    assert.equal(await service.settled(answer), 'applied')
    await until('no submission is queued', async () => (await readLedger(service)).queued === 0)
    return answer
  }
  /** Simulates so many later keys that all earlier keys have left Redis. */
  const forgetAll = async (): Promise<void> => {
    const number = await service.redis.hget(keys().state, 'number')
    await service.redis.hset(keys().state, 'forgotten', number!)
    await service.redis.del(keys().idempotency, keys().keyOrder)
  }

  it('is recognised only while Redis has it, if the look-up in Postgres fails', async () => {
    const first = await settled('while-away', { description: 'while away' })
    // Without the renamed column a worker cannot save.
    await holdWork(service.queues)
    await service.all`alter table submission rename column idempotency_key to taken_away`
    try {
      assert.equal(
        submissionIdOf(await send(service, 'while-away', { description: 'while away' })),
        submissionIdOf(first),
      )
      await forgetAll()
      const again = await send(service, 'while-away', { description: 'while away' })
      assert.equal(again.status, 201)
      assert.notEqual(submissionIdOf(again), submissionIdOf(first))
    } finally {
      await service.all`alter table submission rename column taken_away to idempotency_key`
      await resumeWork(service.queues)
    }
  })
})
