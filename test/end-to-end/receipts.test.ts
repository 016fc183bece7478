import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { makeToken } from '../../contract/token-format.ts'
import { workspaceKeys } from '../../queue/keys.ts'
import { holdWork, resumeWork } from '../support/hold-work.ts'
import { readLedger, readLedgers } from '../support/ledgers.ts'
import { addToken } from '../../db/tokens.ts'
import { createWorkspace } from '../../db/workspaces.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

let service: Service
let otherToken: string
before(async () => {
  service = await startService({ apis: 2 })
  await createWorkspace(service.sql, 'other')
  otherToken = makeToken()
  await addToken(service.sql, { token: otherToken, workspace: 'other', scopes: ['submit'], expiresAt: null })
})
after(() => service?.stop())

const receiptOf = (id: string | null, token?: string): Promise<Answer> =>
  service.request(`/api/v1/submissions/${id}`, undefined, { method: 'GET', ...(token !== undefined && { token }) })
const idOf = ({ headers }: Answer): string => headers.get('Submission-Id')!

describe('a receipt', () => {
  it('tells how a submission is queued, and what became of it', async () => {
    await holdWork(service.queues)
    const answer = await service.post('/feedbacks', { description: 'x' })
    const id = idOf(answer)
    const queued = (await receiptOf(id)).body.submission
    assert.deepEqual(
      { ...queued, acceptedAt: null },
      {
        id,
        operation: 'create_feedback',
        state: 'queued',
        attempts: 0,
        acceptedAt: null,
        finishedAt: null,
        error: null,
      },
    )
    await resumeWork(service.queues)
    await service.settled(answer)
    const settled = (await receiptOf(id)).body.submission
    assert.equal(settled.state, 'applied')
    assert.equal(settled.attempts, 1)
    assert.equal(settled.acceptedAt, queued.acceptedAt)
    assert.ok(Date.parse(settled.finishedAt) >= Date.parse(settled.acceptedAt))
  })

  it('says applied of each submission of a record, also where the next one replaces it', async () => {
    await holdWork(service.queues)
    const record = { source: 'a', sourceId: 'replaced' }
    const answers = [
      await service.post('/feedbacks', { ...record, description: 'first' }),
      await service.post('/feedbacks', { ...record, description: 'second' }),
    ]
    await resumeWork(service.queues)
    for (const answer of answers) assert.equal(await service.settled(answer), 'applied')
  })

  it('of a purge counts what it removed, and does not say whose it was', async () => {
    const contact = { id: 'purged-person', properties: { $email: 'purged-person@example.com' } }
    await service.submit('/contacts/identify', contact)
    await service.submit('/feedbacks', { description: 'x', contact: { email: 'purged-person@example.com' } })
    const purge = await service.submit('/contacts/purge', { id: contact.id }, { token: service.adminToken })
    const { text, body } = await receiptOf(idOf(purge))
    assert.deepEqual(body.submission.counts, {
      contacts: 1,
      feedback: 1,
      messages: 0,
      conversations: 0,
      deadSubmissions: 0,
    })
    assert.doesNotMatch(text, /purged-person/)
  })

  it('is for its own workspace alone', async () => {
    const answer = await service.submit('/feedbacks', { description: 'x' })
    const { status, body } = await receiptOf(idOf(answer), otherToken)
    assert.equal(status, 404)
    assert.equal(typeof body.error, 'string')
  })

  it('of an unknown or malformed id is 404; without a token 401; by another method 405', async () => {
    assert.equal((await receiptOf(crypto.randomUUID())).status, 404)
    assert.equal((await receiptOf('nothing')).status, 404)
    assert.equal(
      (await service.request('/api/v1/submissions/x', undefined, { method: 'GET', token: null })).status,
      401,
    )
    const wrong = await service.request('/api/v1/submissions/x', {})
    assert.equal(wrong.status, 405)
    assert.equal(wrong.headers.get('allow'), 'GET')
  })
})

describe('Prefer: wait', () => {
  const wait = (seconds: number) => ({ headers: { Prefer: `wait=${seconds}` } })

  it('answers when the submission is finished, with the status of the interface', async () => {
    const answer = await service.post('/contacts/identify', { id: 'waiting' }, wait(10))
    assert.equal(answer.status, 201)
    assert.equal(answer.headers.get('submission-state'), 'applied')
    assert.equal(answer.headers.get('preference-applied'), 'wait')
    const [row] = await service.sql`select 1 from contact_external_id where external_id = 'waiting'`
    assert.ok(row)
  })

  it('answers without it when the time is over', async () => {
    await holdWork(service.queues)
    const answer = await service.post('/feedbacks', { description: 'x' }, wait(1))
    assert.equal(answer.status, 201)
    assert.equal(answer.headers.get('submission-state'), 'queued')
    assert.equal(answer.headers.get('preference-applied'), null)
    await resumeWork(service.queues)
  })
})

describe('an idempotency key', () => {
  const send = (key: string, description: string, options: { api?: number; token?: string } = {}) =>
    service.post(
      '/feedbacks',
      { description, contact: { email: `${key}@example.com` } },
      {
        ...options,
        headers: { 'Idempotency-Key': key },
      },
    )
  const recordsOf = async (description: string): Promise<number> =>
    (await service.sql<{ n: number }[]>`select count(*)::int as n from feedback where description = ${description}`)[0]!
      .n

  it('gives the first answer again, from whichever process, and nothing is applied twice', async () => {
    const first = await send('again', 'again')
    const second = await send('again', 'again', { api: 1 })
    assert.deepEqual([second.status, second.text], [first.status, first.text])
    assert.equal(idOf(second), idOf(first))
    await service.settled(first)
    await until('nothing is queued', async () => (await readLedger(service)).queued === 0)
    assert.equal(await recordsOf('again'), 1)
  })

  it('with another body is refused', async () => {
    await send('other-body', 'one')
    const { status, body } = await send('other-body', 'two')
    assert.equal(status, 422)
    assert.equal(typeof body.error, 'string')
  })

  it('lets one of many requests at once in, and the others have its answer', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => send('at-once', 'at once', { api: index % 2 })),
    )
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201])
    assert.equal(new Set(answers.map(idOf)).size, 1)
    await until('it is stored', async () => (await recordsOf('at once')) === 1)
  })

  it('belongs to a workspace and an operation', async () => {
    const first = await send('shared-key', 'of default')
    const other = await send('shared-key', 'of other', { token: otherToken })
    const identify = await service.post(
      '/contacts/identify',
      { id: 'x' },
      { headers: { 'Idempotency-Key': 'shared-key' } },
    )
    assert.deepEqual([first.status, other.status, identify.status], [201, 201, 201])
    assert.notEqual(idOf(first), idOf(other))
  })

  it('of a purge gives its answer again although the contact is gone', async () => {
    await service.submit('/contacts/identify', { id: 'purged-once' })
    const options = { token: service.adminToken, headers: { 'Idempotency-Key': 'purge' } }
    const first = await service.submit('/contacts/purge', { id: 'purged-once' }, options)
    const second = await service.post('/contacts/purge', { id: 'purged-once' }, options)
    assert.deepEqual([second.status, idOf(second)], [200, idOf(first)])
    assert.equal(
      (await service.post('/contacts/purge', { id: 'purged-once' }, { token: service.adminToken })).status,
      404,
    )
  })

  it('does not use up the rate limit when it is repeated, and is not remembered when nothing was accepted', async () => {
    const conversation = { id: 'c', source: 's', createdAt: '2026-01-01T00:00:00Z', contacts: [], messages: [] }
    const post = (headers: Record<string, string>) => service.post('/conversations', conversation, { headers })
    const repeated = []
    for (let time = 0; time < 12; time++) repeated.push((await post({ 'Idempotency-Key': 'c' })).status)
    assert.deepEqual(
      repeated,
      Array.from({ length: 12 }, () => 200),
    )
    for (let time = 0; time < 9; time++) assert.equal((await post({})).status, 200)
    assert.equal((await post({ 'Idempotency-Key': 'refused' })).status, 429)
    assert.equal((await post({ 'Idempotency-Key': 'refused' })).status, 429)
  })

  it('has 1 to 255 visible characters and is kept as a hash alone', async () => {
    const { status, body } = await send('a b', 'x')
    assert.equal(status, 400)
    assert.equal(body.error[0].path, 'Idempotency-Key')
    await send('a-secret-idempotency-key', 'x')
    const { idempotency } = workspaceKeys(service.redisPrefix, service.workspaceId)
    const book = JSON.stringify(await service.redis.hgetall(idempotency))
    assert.ok(book.length > 50)
    assert.ok(!book.includes('a-secret-idempotency-key'))
  })
})

describe('the ledger', () => {
  it('adds up when nothing is queued, per workspace', async () => {
    await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        service.post(
          '/feedbacks',
          { description: 'x', sourceId: `ledger-${index % 10}` },
          {
            token: index % 3 === 0 ? otherToken : service.accessToken,
          },
        ),
      ),
    )
    const ledgers = await until('nothing is queued', async () => {
      const read = await readLedgers(service.sql, service.redis, service.redisPrefix)
      return read.every(({ queued }) => queued === 0) && read
    })
    for (const { workspaceId, difference, accepted, applied, superseded } of ledgers) {
      assert.equal(difference, 0, workspaceId)
      assert.equal(accepted, applied + superseded)
      const [{ submissions } = { submissions: -1 }] = await service.sql<{ submissions: number }[]>`
        select count(*)::int as submissions from submission where workspace_id = ${workspaceId}`
      assert.equal(accepted, submissions)
    }
  })
})
