import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import postgres from 'postgres'
import { READABLE_TABLES } from '../../db/schema/readers.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { workspaceKeys } from '../../queue/keys.ts'
import { createDemoData, readReviews } from '../../demo/demo-data.ts'
import { outputOf, runCommand } from '../support/command.ts'
import { DOCUMENTED_QUERIES } from '../support/readme-commands.ts'
import type { Service } from '../support/service.ts'
import { operatedService } from '../support/shared-service.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { until } from '../support/until.ts'

/** The numbered queries. readme.test.ts runs those for psql. */
const QUERIES = DOCUMENTED_QUERIES.filter(([title]) => /^\d/.test(title))
const READER = 'cli/reader-command.ts'
const SUBMISSIONS = 30
/** The locks are held at least this long. */
const HELD_MS = process.env['TEST_SIZE'] === 'long' ? 60_000 : 0
const ADVISORY_LOCKS = 1_000
const FEEDBACK = 100
const INSUFFICIENT_PRIVILEGE = '42501'
/** Postgres allows no writes into views of joins, and no truncate of views. */
const REFUSED_BY_VIEWS = ['55000', '42809', INSUFFICIENT_PRIVILEGE]
const VIEWS = ['feedback_tag', 'feedback_view']

const refusal = async (running: Promise<unknown>): Promise<string | undefined> => {
  const error: unknown = await running.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  return error instanceof postgres.PostgresError ? error.code : undefined
}

describe('the role of readers', () => {
  const role = `reader_${randomBytes(4).toString('hex')}`
  const directory = temporaryDirectory()
  let service: Service
  let readerUrl: string
  let reader: Sql
  before(async () => {
    // The queries select the workspace `default`, which is the first one of this service.
    service = await operatedService()
    // Other test files may have spent the tokens.
    await service.redis.del(workspaceKeys(service.redisPrefix, service.workspaceId).bucket('submit_conversation'))
    const demo = createDemoData(readReviews(), new Date())
    for (const group of [demo.accounts, demo.contacts, demo.feedback.slice(0, FEEDBACK), demo.conversations]) {
      const { text, body } = await service.post('/batch', { items: group })
      for (const { status } of body.results) assert.ok(status < 300, text)
    }
    const isTagged = async (): Promise<boolean> => {
      const [{ tagged, left }] = await service.sql<[{ tagged: number; left: number }]>`
        select count(*)::int as tagged, (count(*) filter (where tags is null))::int as left from feedback`
      return tagged >= FEEDBACK && left === 0
    }
    await until('all records are stored and tagged', isTagged)
    const { code, stdout, stderr } = await runCommand(service, READER, 'create', role)
    assert.equal(code, 0, stderr)
    assert.match(stderr, /large objects.*docs\/queries\.md says how a superuser prevents that/)
    readerUrl = stdout.trim()
    assert.equal(new URL(readerUrl).host, new URL(service.environment['DATABASE_URL']!).host)
    assert.equal(new URL(readerUrl).username, role)
    reader = postgres(readerUrl, { max: 1, onnotice: () => {} })
  })
  after(async () => {
    await reader?.end({ timeout: 5 })
    await outputOf(service, READER, 'drop', role)
    await service?.stop()
  })

  it('has 18 documented queries', () => assert.equal(QUERIES.length, 18))
  for (const [title, query] of QUERIES) {
    it(`can ask: ${title}`, async () => {
      assert.notEqual((await reader.unsafe(query)).length, 0)
    })
  }

  it('is enough for npm run export and npm run report, while one of two servers is away', async () => {
    const url = new URL(readerUrl)
    // This has to find the primary, although the sessions of the role are read-only there as well.
    url.searchParams.set('target_session_attrs', 'read-write')
    const asReader = { environment: { ...service.environment, DATABASE_URL: url.href.replace('@', '@127.0.0.1:1,') } }
    const [out, page] = [join(directory, 'feedback.ndjson'), join(directory, 'report.html')]
    const printed = await outputOf(asReader, 'cli/export/export-command.ts', '--format', 'ndjson', '--out', out)
    const records = Number(/(\d+) records/.exec(printed)?.[1])
    assert.ok(records >= FEEDBACK)
    assert.equal(readFileSync(out, 'utf8').trimEnd().split('\n').length, records)
    assert.match(await outputOf(asReader, 'cli/report-command.ts', '--out', page), /: [1-9]\d* feedback/)
  })

  it('reads the tables for people and no others, such as tokens and dead submissions', async () => {
    const tables = await service.sql<{ name: string; schema: string }[]>`
      select table_name as name, table_schema as schema from information_schema.tables where table_schema = current_schema()`
    assert.ok(
      tables.some((table) => table.name === 'token') && tables.some((table) => table.name === 'dead_submission'),
    )
    for (const table of tables) {
      const isReadable = (READABLE_TABLES as readonly string[]).includes(table.name)
      const code = await refusal(reader`select from ${reader(table.name)} limit 1`)
      assert.equal(code, isReadable ? undefined : INSUFFICIENT_PRIVILEGE, table.name)
    }
  })

  it('writes nothing, even after it turns its read-only default off', async () => {
    await reader`set default_transaction_read_only = off`
    for (const table of READABLE_TABLES) {
      const name = reader(table)
      const column = table === 'workspace' ? 'id' : 'workspace_id'
      const refusals = VIEWS.includes(table) ? REFUSED_BY_VIEWS : [INSUFFICIENT_PRIVILEGE]
      for (const written of [
        reader`insert into ${name} default values`,
        reader`update ${name} set ${reader(column)} = ${reader(column)}`,
        reader`delete from ${name}`,
        reader`truncate ${name}`,
      ]) {
        const code = await refusal(written)
        assert.ok(refusals.includes(code ?? ''), `${table} ${code}`)
      }
    }
    for (const statement of [
      'create table mine (id integer)',
      'create temporary table theirs as select * from token',
      'create temporary table t (x int)',
      `create function ${service.redisPrefix}.f() returns int language sql as 'select 1'`,
      'select * from contact for update',
      'select * from contact for key share',
      'lock table contact in share mode',
    ]) {
      assert.equal(await refusal(reader.unsafe(`begin; ${statement}`)), INSUFFICIENT_PRIVILEGE, statement)
      await reader.unsafe('rollback')
    }
    await reader`set default_transaction_read_only = on`
  })

  it('has at most 10 connections, and 5 minutes for a statement', async () => {
    const [limits] = await reader`
      select rolconnlimit as connections, current_setting('statement_timeout') as time
      from pg_roles where rolname = current_user`
    assert.deepEqual({ ...limits }, { connections: 10, time: '5min' })
  })

  it('blocks no submission while it holds locks on its tables and a thousand advisory locks', async () => {
    await reader.unsafe('begin isolation level repeatable read')
    const [{ schema }] = await reader<[{ schema: string }]>`select current_schema() as schema`
    assert.equal(schema, service.redisPrefix)
    for (const table of READABLE_TABLES.filter((name) => !VIEWS.includes(name)))
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
})
