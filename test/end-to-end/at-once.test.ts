import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { workspaceKeys } from '../../queue/keys.ts'
import { type Answer, type Service, startService } from '../support/service.ts'

const AT_ONCE = 60

describe('requests that come at once', () => {
  let service: Service
  before(async () => {
    service = await startService({ workers: 0 })
  })
  after(() => service?.stop())

  const send = (): Promise<Answer[]> =>
    Promise.all(
      Array.from({ length: AT_ONCE }, (_, index) =>
        service.post(
          '/feedbacks',
          { description: 'at once', contact: { email: `p-${index}@x.example` } },
          { headers: { 'Idempotency-Key': `key-${index}` } },
        ),
      ),
    )

  it('are each answered, and with their own answer', async () => {
    const answers = await send()
    const ids = new Set(answers.map(({ headers }) => headers.get('submission-id')))
    const customers = new Set(answers.map(({ body }) => String(body.feedback.customerId)))
    assert.deepEqual([ids.size, customers.size], [AT_ONCE, AT_ONCE])
    const again = await send()
    assert.deepEqual(
      again.map(({ text, headers }) => [text, headers.get('submission-id')]),
      answers.map(({ text, headers }) => [text, headers.get('submission-id')]),
    )
  })

  it('are each told to come back when they cannot be admitted, and admitted then', async () => {
    const { log } = workspaceKeys(service.redisPrefix, service.workspaceId)
    await service.redis.rename(log, `${log}:kept`)
    await service.redis.set(log, 'nothing that admissions could use')
    for (const { status, headers, body } of await Promise.all(
      Array.from({ length: AT_ONCE }, () => service.post('/feedbacks', { description: 'refused' })),
    )) {
      assert.equal(status, 503)
      assert.deepEqual(Object.keys(body), ['error'])
      assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/)
    }
    await service.redis.rename(`${log}:kept`, log)
    assert.equal((await service.post('/feedbacks', { description: 'taken' })).status, 201)
  })
})
