import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Sql } from '../../db/connection/postgres.ts'
import { emptySchema } from '../support/schema.ts'
import { testServers } from '../support/servers.ts'
import { startService } from '../support/service.ts'
import { startProgram } from '../../bench/installation/program.ts'
import { createAtOnceTables } from '../../bench/plain/at-once.ts'

type Sent = { body: object; key?: string | undefined }

const ada = {
  contact: { email: 'ada@engine.example', name: 'Ada' },
  account: { name: 'Engine', domain: 'engine.example' },
}
const grace = {
  contact: { email: 'grace@navy.example', name: 'Grace' },
  account: { name: 'Navy', domain: 'navy.example' },
}
const common = { source: 'desk', tags: ['speed'], rating: 3 }

/**
 * A person who returns, a project, a feedback that another person replaces, feedback without a
 * contact, and a repeated request.
 */
const HISTORY: readonly Sent[] = [
  { body: { description: 'one', sourceId: '1', ...ada, ...common }, key: 'first' },
  { body: { description: 'two', sourceId: '2', ...grace, ...common, project: { name: 'Compiler' } } },
  { body: { description: 'three', title: 'Third', sourceId: '3', ...ada, ...common, project: { name: 'Compiler' } } },
  { body: { description: 'one', sourceId: '1', ...ada, ...common }, key: 'first' },
  { body: { description: 'two, corrected', sourceId: '2', ...ada, ...common, rating: 5 } },
  { body: { description: 'no contact', ...common } },
  { body: { description: 'no contact', ...common }, key: 'second' },
]
const KEY_REUSED: Sent = { body: { description: 'another', ...common }, key: 'first' }

const send = async (url: string, token: string, { body, key }: Sent): Promise<number> => {
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      ...(key !== undefined && { 'Idempotency-Key': key }),
    },
    body: JSON.stringify(body),
  })
  await answer.arrayBuffer()
  return answer.status
}

const rowsOf = async (sql: Sql) => ({
  feedback: await sql`
    select f.description, f.title, f.tags, f.rating, f.source, f.source_id, c.email, c.name as contact, a.name as account,
      a.domain, p.name as project
    from feedback as f
    left join contact as c on c.id = f.contact_id
    left join account as a on a.id = f.account_id
    left join project as p on p.id = f.project_id
    order by f.description`.values(),
  contacts: await sql`select email, name from contact order by email`.values(),
  accounts: await sql`select name, domain from account order by name`.values(),
  projects: await sql`select name from project`.values(),
})

describe('the handler that does the same work directly', () => {
  it('writes the same rows as this service for a simple history, and refuses the same requests', async () => {
    await using running = new AsyncDisposableStack()
    const plain = await emptySchema(1)
    running.defer(plain.drop)
    await createAtOnceTables(plain.sql)
    const api = await startProgram({
      file: 'bench/plain/at-once-api.ts',
      environment: {
        DATABASE_URL: testServers().databaseUrl,
        DATABASE_SCHEMA: plain.name,
        REDIS_URL: testServers().redisUrl,
        REDIS_PREFIX: plain.name,
        TOKEN: 'plain',
      },
    })
    running.defer(api.stop)
    const service = await startService()
    running.defer(service.stop)
    for (const { body, key } of HISTORY) {
      await service.submit('/feedbacks', body, key === undefined ? {} : { headers: { 'Idempotency-Key': key } })
      assert.equal(await send(`http://127.0.0.1:${api.port}/feedbacks`, 'plain', { body, key }), 201)
    }
    const expected = await rowsOf(service.sql)
    assert.equal(expected.feedback.length, 5)
    assert.deepEqual(await rowsOf(plain.sql), expected)
    const [counted] = await plain.sql<[{ receipts: number; keys: number }]>`
      select (select count(*)::int from receipt) as receipts, (select count(*)::int from idempotency_key) as keys`
    assert.deepEqual({ ...counted }, { receipts: HISTORY.length - 1, keys: 2 })
    for (const [url, token] of [
      [`http://127.0.0.1:${api.port}/feedbacks`, 'plain'],
      [`${service.urls[0]}/api/v1/feedbacks`, service.accessToken],
    ] as const) {
      assert.equal(await send(url, token, KEY_REUSED), 422)
      assert.equal(await send(url, 'stranger', HISTORY[0]!), 401)
    }
  })
})
