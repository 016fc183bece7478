import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { type Answer, type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const PAIRS = process.env['TEST_SIZE'] === 'long' ? 1_000 : 100
const AT_ONCE = 10

/** A body for each operation. */
const BODIES: Readonly<Record<string, (id: string) => object>> = {
  '/feedbacks': (id) => ({ description: 'x', sourceId: id }),
  '/contacts/identify': (id) => ({ id, properties: { $email: `${id}@x.example` } }),
  '/accounts/identify': (id) => ({ id, properties: { $name: id, $domain: `${id}.example` } }),
  '/conversations': (id) => ({ id, source: 's', createdAt: '2026-01-01T00:00:00Z', contacts: [], messages: [] }),
  '/contacts/purge': (id) => ({ id }),
}

describe('an idempotency key in two simultaneous requests that wait', () => {
  let service: Service
  before(async () => {
    service = await startService({ environment: { CONVERSATIONS_PER_MINUTE: '1000000' } })
  })
  after(() => service?.stop())

  const send = (path: string, id: string, seconds: number): Promise<Answer> => {
    const headers = { 'Idempotency-Key': `key-${id}`, Prefer: `wait=${seconds}` }
    return service.post(path, BODIES[path]!(id), { headers, token: service.adminToken })
  }

  it('gets the same submission in both answers, for every operation', async () => {
    const paths = Object.keys(BODIES)
    for (let from = 0; from < PAIRS; from += AT_ONCE) {
      const pairs = Array.from({ length: AT_ONCE }, async (_, at) => {
        const path = paths[(from + at) % paths.length]!
        const id = randomUUID()
        if (path === '/contacts/purge') await service.submit('/contacts/identify', { id })
        const answers = await Promise.all([send(path, id, 30), send(path, id, 30)])
        const about = `${path}: ${answers.map(({ status, text }) => `${status} ${text}`).join(', ')}`
        assert.ok(
          answers.every(({ status }) => status === 200 || status === 201),
          about,
        )
        assert.equal(new Set(answers.map(({ headers }) => headers.get('Submission-Id'))).size, 1, about)
        assert.deepEqual(new Set(answers.map(({ headers }) => headers.get('Submission-State'))), new Set(['applied']))
      })
      await Promise.all(pairs)
    }
  })

  it('gets an answer in each of two items of a batch', async () => {
    const item = { operation: 'create_feedback', body: { description: 'x' }, idempotencyKey: randomUUID() }
    const { body } = await service.post('/batch', { items: [item, item] }, { headers: { Prefer: 'wait=30' } })
    const results = body.results as { status: number; submissionId: string; state: string }[]
    assert.deepEqual(
      results.map(({ status, state }) => ({ status, state })),
      [1, 2].map(() => ({ status: 201, state: 'applied' })),
    )
    assert.equal(results[0]!.submissionId, results[1]!.submissionId)
  })

  it('gets its answers when the API stops in order', async () => {
    const still = await startService({ workers: 0, environment: { SHUTDOWN_SECONDS: '20' } })
    const headers = { 'Idempotency-Key': 'key', Prefer: 'wait=5' }
    const pair = [1, 2].map(() => still.post('/feedbacks', { description: 'x' }, { headers }))
    await until('it is accepted', async () => (await still.redis.keys(`{${still.redisPrefix}:*log`)).length > 0)
    const stopped = still.stop()
    for (const { status, headers: answered } of await Promise.all(pair)) {
      assert.equal(status, 201)
      assert.equal(answered.get('Submission-State'), 'queued')
    }
    await stopped
  })
})
