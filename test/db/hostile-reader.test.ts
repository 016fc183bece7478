import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import postgres from 'postgres'
import { createReader, dropReader, READABLE_TABLES } from '../../db/schema/readers.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { testServers } from '../support/servers.ts'
import type { Service } from '../support/service.ts'
import { operatedService } from '../support/shared-service.ts'

const SUBMISSIONS = 30
/** The locks are held for so long at least. */
const HELD_MS = process.env['TEST_SIZE'] === 'long' ? 60_000 : 0
const INSUFFICIENT_PRIVILEGE = '42501'
const ADVISORY_LOCKS = 1_000

describe('a reader that takes every lock it can', () => {
  const role = `hostile_${randomBytes(4).toString('hex')}`
  let service: Service
  let reader: Sql
  before(async () => {
    service = await operatedService()
    const url = new URL(testServers().databaseUrl)
    url.password = await createReader(service.sql, role)
    url.username = role
    reader = postgres(url.href, { max: 1, onnotice: () => {} })
  })
  after(async () => {
    await reader?.end({ timeout: 5 })
    await dropReader(service.sql, role)
    await service?.stop()
  })

  it('holds no submission up', async () => {
    // The answer arrives while the transaction goes on.
    await reader.unsafe('begin isolation level repeatable read')
    const [{ schema }] = await reader<[{ schema: string }]>`select current_schema() as schema`
    assert.equal(schema, service.redisPrefix)
    for (const table of READABLE_TABLES.filter((name) => !['feedback_tag', 'feedback_view'].includes(name)))
      await reader.unsafe(`lock table ${table} in access share mode`)
    await reader`select count(*) from feedback`
    const ids = [service.workspaceId]
    for (let key = 0; key < ADVISORY_LOCKS; key++) ids.push(String(key))
    await reader`
      select pg_advisory_xact_lock(hashtext(id)), pg_advisory_xact_lock(hashtextextended(id, 0))
      from unnest(${ids}::text[]) as i (id)`
    const since = performance.now()
    for (let at = 0; at < SUBMISSIONS || performance.now() - since < HELD_MS; at++) {
      await service.submit('/contacts/identify', { id: `c${at % 10}`, properties: { $email: `c${at}@x.example` } })
    }
    const [{ held }] = await reader<[{ held: number }]>`
      select count(*)::int as held from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'`
    assert.ok(held > ADVISORY_LOCKS)
    await reader.unsafe('rollback')
  })

  it('makes nothing, and locks no row', async () => {
    const refused = [
      'create temporary table t (x int)',
      'create table t (x int)',
      `create function ${service.redisPrefix}.f() returns int language sql as 'select 1'`,
      'select * from contact for update',
      'select * from contact for key share',
      'lock table contact in share mode',
      'select * from workspace_progress',
      'update contact set name = null',
    ]
    for (const statement of refused) {
      const code = await reader.unsafe(`begin read write; ${statement}`).then(
        () => 'done',
        (error: { code?: string }) => error.code,
      )
      await reader.unsafe('rollback')
      assert.equal(code, INSUFFICIENT_PRIVILEGE, statement)
    }
  })
})
