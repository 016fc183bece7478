import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { readApiConfig } from '../../api/config.ts'
import { type Api, createApi } from '../../api/create-api.ts'
import type { BatchAnswer } from '../../api/submit/submit-batch.ts'
import { emailKey, hashKeyFrom } from '../../contract/identity/keys.ts'
import { setBootstrapTokens } from '../../db/tokens.ts'
import { DEFAULT_WORKSPACE } from '../../db/workspaces/workspaces.ts'
import { openQueueRoom } from '../support/queue-room.ts'
import { freshSchema, type TestSchema } from '../support/schema.ts'
import { testServers } from '../support/servers.ts'

const TOKEN = 'an-admin-token-of-the-test'
const HASH_KEY = '0'.repeat(64)
const hashKey = hashKeyFrom(HASH_KEY)
const FIRST = { description: 'It is slow', contact: { email: 'ann@example.org' } }

describe('an API without a worker', () => {
  const room = openQueueRoom()
  let schema: TestSchema
  let api: Api
  before(async () => {
    schema = await freshSchema()
    const { redisUrl, databaseUrl } = testServers()
    await setBootstrapTokens(schema.sql, { admin: TOKEN })
    const config = readApiConfig({
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      REDIS_PREFIX: room.prefix,
      HASH_KEY,
    })
    const { redis } = room
    api = await createApi({
      config,
      hashKey,
      sql: schema.sql,
      readingSql: schema.sql,
      redis,
      admitting: redis,
      tracing: undefined,
      log: () => {},
    })
  })
  after(async () => {
    api.drain()
    await api.stop()
    await room.close()
    await schema.drop()
  })

  const Authorization = `Bearer ${TOKEN}`
  const get = (path: string): Promise<Response> =>
    api.handle(new Request(`http://x${path}`, { headers: { Authorization } }))
  const post = (path: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
    api.handle(
      new Request(`http://x/api/v1${path}`, {
        method: 'POST',
        headers: { Authorization, 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    )

  it('refuses a purge that matches nothing, and queues nothing', async () => {
    const response = await post('/contacts/purge', { email: 'ann@example.org' })
    assert.equal(response.status, 404)
    assert.equal(response.headers.get('Submission-Id'), null)
  })

  it('accepts a feedback, answers with the id that its contact will have, and shows it as queued', async () => {
    const response = await post('/feedbacks', FIRST, { 'Idempotency-Key': 'first' })
    assert.equal(response.status, 201)
    const { feedback } = await response.json()
    const [workspace] = await schema.sql<[{ id: string }]>`select id from workspace where name = ${DEFAULT_WORKSPACE}`
    assert.equal(feedback.customerId, emailKey({ hashKey, workspaceId: workspace.id }, 'ann@example.org'))
    const id = response.headers.get('Submission-Id')!
    const receipt = await get(`/api/v1/submissions/${id}`)
    assert.equal((await receipt.json()).submission.state, 'queued')
  })

  it('answers a repeated request again, even when both requests wait for the same submission', async () => {
    const headers = { 'Idempotency-Key': 'first', Prefer: 'wait=0' }
    const responses = await Promise.all([1, 2].map(() => post('/feedbacks', FIRST, headers)))
    const ids = responses.map((response) => response.headers.get('Submission-Id'))
    assert.deepEqual(
      responses.map(({ status }) => status),
      [201, 201],
    )
    assert.equal(new Set(ids).size, 1)
    const other = await post('/feedbacks', { description: 'other' }, headers)
    assert.equal(other.status, 422)
  })

  it('leaves out a contact that it cannot determine in time', async () => {
    const response = await post('/feedbacks', { description: 'x', contactId: 'a', isExternalContactId: true })
    assert.equal('customerId' in (await response.json()).feedback, false)
  })

  it('accepts the items of a batch in their order', async () => {
    const items = [
      { operation: 'identify_contact', body: { id: 'a' } },
      { operation: 'create_feedback', body: { description: '' } },
      { operation: 'identify_contact', body: { id: 'null' } },
      {
        operation: 'submit_conversation',
        body: { id: 'c', source: 's', createdAt: '2026-01-01T00:00:00Z', contacts: [], messages: [] },
      },
    ]
    const { results } = (await (await post('/batch', { items })).json()) as BatchAnswer
    assert.deepEqual(
      results.map(({ status }) => status),
      [201, 201, 400, 200],
    )
    const accepted = results.flatMap(({ submissionId }) => submissionId ?? [])
    assert.deepEqual(accepted, accepted.toSorted())
  })

  it('accepts a purge while the log has entries, and answers when it is to end', async () => {
    const purging = post('/contacts/purge', { id: 'b' })
    assert.equal((await get('/readyz')).status, 200)
    // No worker decides the purge here, so the answer waits until the process drains.
    api.drain()
    const response = await purging
    assert.equal(response.status, 200)
    assert.notEqual(response.headers.get('Submission-Id'), null)
    assert.equal((await get('/readyz')).status, 503)
  })
})
