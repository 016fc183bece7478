import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { after, afterEach, before, describe, it } from 'node:test'
import { startRedis } from '../../cli/start/embedded/redis-server.ts'
import type { EmbeddedServer } from '../../cli/start/embedded/server.ts'
import { connectPostgres, type Sql } from '../../db/postgres.ts'
import { connectToWork, type RedisClient } from '../../queue/connect-redis.ts'
import { workspaceKeys } from '../../queue/keys.ts'
import { runCommand } from '../support/command.ts'
import { readLedgers } from '../support/ledgers.ts'
import { nothingSeen, startLoad } from '../support/load.ts'
import { archiveAll, restoreTo, startArchivedPostgres, takeBackup } from '../support/postgres-archive.ts'
import { assertWellAnswered, damage, recovery } from '../support/recovery.ts'
import { requestsTo } from '../support/service.ts'
import { startProcess } from '../support/service-process.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { findTraces } from '../support/traces.ts'
import { until } from '../support/until.ts'

const PREFIX = 'fbi'
const MORE = 100
/** Purged before and after the point in time. No other text has their names. */
const PURGED_BEFORE = 'wilhelmina'
const PURGED_AFTER = 'bartholomew'
const OTHER = 'konstantin'
const CREATED_AT = '2026-01-01T00:00:00Z'

/** One of each kind. Another contact of the conversation stays. */
const submissionsOf = (name: string): [path: string, body: object][] => {
  const contact = { id: name, properties: { $email: `${name}@example.com`, $name: name } }
  const contacts = [contact, { id: 'somebody else' }]
  const messages = [
    { id: 'm', incoming: true, contactId: name, content: `${name} has a question`, createdAt: CREATED_AT },
  ]
  return [
    ['/feedbacks', { description: `of ${name}`, sourceId: name, contact: { email: `${name}@example.com` } }],
    ['/contacts/identify', contact],
    ['/accounts/identify', { id: `account of ${name.length}`, properties: { $name: 'Acme', $domain: 'acme.example' } }],
    ['/conversations', { id: `chat of ${name.length}`, source: 'chat', createdAt: CREATED_AT, contacts, messages }],
  ]
}

const idsIn = async (sql: Sql): Promise<Set<string>> => {
  const rows = await sql<{ id: string }[]>`select id from submission where state <> 'queued'`
  return new Set(rows.map(({ id }) => id))
}

describe('a database that is restored to a point in time', () => {
  const directory = temporaryDirectory()
  const files = { backup: join(directory, 'backup'), purged: join(directory, 'purged.ndjson') }
  const tokens = { access: randomBytes(16).toString('hex'), admin: randomBytes(16).toString('hex') }
  const all = new AsyncDisposableStack()
  let redis: RedisClient
  let settings: Record<string, string>
  /** What was accepted before the disaster, and what became of it until then. */
  const accepted = new Set<string>()
  const stored = { before: new Set<string>(), after: new Set<string>(), afterPurge: new Set<string>() }
  const waiting = new Set<string>()
  let archive = ''
  let at = ''
  let highest = 0

  /** A service on this server, its database and what may be asked of it. */
  const serve = async (server: EmbeddedServer) => {
    const environment = { ...settings, DATABASE_URL: server.url }
    const sql = connectPostgres(server.url, { connections: 2, statementTimeoutMs: 30_000, applicationName: 'test' })
    const migrated = await runCommand({ environment }, 'cli/migrate-command.ts')
    assert.equal(migrated.code, 0, migrated.stderr)
    const run = (program: string, ...words: string[]) => runCommand({ environment }, program, ...words)
    const start = async () => {
      const worker = await startProcess('worker/main.ts', 'working', environment)
      const api = await startProcess('api/main.ts', 'listening', environment)
      const url = `http://127.0.0.1:${api.port}`
      const requests = requestsTo([url], tokens.access, sql)
      /** What is accepted, with its id. */
      const accept = async (path: string, body: object, key?: string): Promise<string> => {
        const headers: Record<string, string> = key === undefined ? {} : { 'Idempotency-Key': key }
        const token = path.endsWith('/purge') ? tokens.admin : tokens.access
        const answer = await requests.submit(path, body, { headers, token })
        return answer.headers.get('Submission-Id')!
      }
      const asked = { url, accessToken: tokens.access, sql, redis, prefix: PREFIX }
      return { worker, api, asked, accept, ...requests }
    }
    return { sql, run, migrated: migrated.stdout, start, end: () => sql.end({ timeout: 5 }) }
  }

  before(async () => {
    const postgres = await startArchivedPostgres(directory)
    all.defer(postgres.server.stop)
    const redisServer = await startRedis({ dataDir: join(directory, 'redis') })
    all.defer(redisServer.stop)
    redis = connectToWork(redisServer.url)
    all.defer(() => redis.disconnect())
    settings = {
      REDIS_URL: redisServer.url,
      REDIS_PREFIX: PREFIX,
      HASH_KEY: randomBytes(32).toString('hex'),
      BOOTSTRAP_ACCESS_TOKEN: tokens.access,
      BOOTSTRAP_ADMIN_TOKEN: tokens.admin,
      CONVERSATIONS_PER_MINUTE: '1000000',
      REDO_SECONDS: '600',
      PORT: '0',
      WORKER_PORT: '0',
    }
    archive = postgres.archive
    const { sql, run, start, end } = await serve(postgres.server)
    const { worker, api, asked, accept } = await start()
    const load = startLoad(asked)
    const moreLoad = () => {
      const { size } = load.seen.accepted
      return until('more is accepted', () => Promise.resolve(load.seen.accepted.size > size + MORE))
    }
    const submit = async (path: string, body: object, key?: string) => accepted.add(await accept(path, body, key))
    for (const name of [PURGED_BEFORE, PURGED_AFTER, OTHER]) {
      for (const [path, body] of submissionsOf(name)) await submit(path, body)
    }
    await moreLoad()
    const backedUpAt = performance.now()
    const means = await takeBackup(postgres, files.backup)
    const backupMs = performance.now() - backedUpAt
    await submit('/contacts/purge', { id: PURGED_BEFORE })
    await submit('/feedbacks', {
      description: `again of ${PURGED_AFTER}`,
      isExternalContactId: true,
      contactId: PURGED_AFTER,
    })
    await submit('/feedbacks', { description: 'kept', sourceId: 'kept' }, 'key-of-kept')
    await moreLoad()

    for (const id of await idsIn(sql)) stored.before.add(id)
    at = (await sql<[{ at: string }]>`select clock_timestamp()::text as at`)[0].at
    const sentAfter = new Set<string>()
    const { size } = load.seen.accepted
    sentAfter.add(await accept('/feedbacks', { description: 'lost', sourceId: 'lost' }, 'key-of-lost'))
    sentAfter.add(await accept('/contacts/purge', { id: PURGED_AFTER }))
    const acceptedAtPurge = load.seen.accepted.size
    await moreLoad()
    for (const id of [...load.seen.accepted.keys()].slice(size + 10)) sentAfter.add(id)
    const exported = await run('cli/purge/export-command.ts')
    assert.equal(exported.code, 0, exported.stderr)
    writeFileSync(files.purged, exported.stdout)

    await worker.stop()
    await moreLoad()
    await load.stop()
    await api.stop()
    assertWellAnswered(load.seen)
    for (const id of [...load.seen.accepted.keys(), ...sentAfter]) accepted.add(id)
    const last = await idsIn(sql)
    for (const id of accepted) if (!last.has(id)) waiting.add(id)
    for (const id of sentAfter) if (last.has(id)) stored.after.add(id)
    for (const id of [...load.seen.accepted.keys()].slice(acceptedAtPurge + 10))
      if (last.has(id)) stored.afterPurge.add(id)
    const [workspace] = await sql<[{ id: string }]>`select id from workspace`
    highest = Number(await redis.hget(workspaceKeys(PREFIX, workspace.id).state, 'number'))
    await archiveAll(postgres)
    await end()
    process.kill(postgres.server.pid, 'SIGKILL')
    await postgres.server.exited
    console.log(
      `${accepted.size} confirmed: ${stored.before.size} stored before the point in time, ${last.size - stored.before.size} after it, ` +
        `${waiting.size} wait in Redis; the base backup took ${Math.round(backupMs)} ms with ${means}`,
    )
  })
  after(() => all.disposeAsync())
  /** What one restored service runs on: two at once would share Redis. */
  let running = new AsyncDisposableStack()
  afterEach(async () => {
    await running.disposeAsync()
    running = new AsyncDisposableStack()
  })

  const restore = async (name: string) => {
    const startedAt = performance.now()
    const server = await restoreTo(join(directory, name), { backup: files.backup, archive, at })
    running.defer(server.stop)
    const restoredMs = performance.now() - startedAt
    const { sql, run, migrated, start, end } = await serve(server)
    running.defer(end)
    assert.equal(migrated, 'The database is up to date.\n')
    const contactsNamed = async (who: string) => (await sql`select from contact where name = ${who}`).count
    assert.equal(await contactsNamed(PURGED_BEFORE), 0, 'the first purge is in the backup')
    assert.equal(await contactsNamed(PURGED_AFTER), 1, 'the second is not')
    const replayed = await run('cli/purge/replay-command.ts', files.purged)
    assert.match(replayed.stdout, /\b1 contacts purged again\./, replayed.stderr)
    const service = await start()
    running.defer(service.worker.stop)
    running.defer(service.api.stop)
    const startedMs = performance.now() - startedAt
    const load = startLoad(service.asked)
    await until('more is accepted', () => Promise.resolve(load.seen.accepted.size > MORE))
    await load.stop()
    assertWellAnswered(load.seen)
    await recovery(service.asked, load.seen)
    const ledger = async () => (await readLedgers(sql, redis, PREFIX))[0]!
    await until('nothing waits', async () => (await ledger()).queued === 0)
    const [{ lowest }] = await sql<[{ lowest: number }]>`
      select min(acceptance_number)::float8 as lowest from submission
      where id = any (${[...load.seen.accepted.keys()]}::uuid[])`
    assert.ok(lowest > highest, 'acceptance numbers went back')
    const held = await idsIn(sql)
    assert.deepEqual([...stored.before.difference(held)], [], 'was stored before the point in time')
    const lost = accepted.difference(held)
    const purged = [PURGED_BEFORE, PURGED_AFTER]
    const output = () => service.api.output() + service.worker.output()
    assert.deepEqual(await findTraces({ sql, redis, redisPrefix: PREFIX, output }, purged), [])
    const verified = await run('cli/purge/verify-command.ts', ...purged.flatMap((text) => ['--text', text]))
    assert.equal(verified.code, 0, verified.stdout)
    assert.equal(await contactsNamed(OTHER), 1, 'another contact stays')
    console.log(
      `${name}: restored after ${Math.round(restoredMs)} ms, the service runs after ${Math.round(startedMs)}; ` +
        `${held.intersection(accepted).size} of ${accepted.size} stored, ${lost.size} gone`,
    )
    return { ...service, sql, run, ledger, held, lost }
  }
  type Restored = Awaited<ReturnType<typeof restore>>

  const assertNothingDoubled = async ({ sql }: Restored) => {
    assert.deepEqual(await damage(sql, nothingSeen()), { lost: 0, doubled: 0 })
    const again = await sql`select from feedback where source_id in ('lost', 'kept')`
    assert.equal(again.count, 2, 'what was sent again is there')
  }
  /** Where the point in time lies between the storing and the tagging, the job that would tag is done, or gone with Redis. */
  const tagTheRest = async ({ sql, run }: Restored) => {
    const untagged = async () => {
      const [row] = await sql<[{ n: number }]>`
        select count(*)::int as n from feedback where tags_generated and tagger_version is null`
      return row.n
    }
    const left = await untagged()
    const retagged = await run('cli/retag/retag-command.ts')
    assert.equal(retagged.code, 0, retagged.stderr)
    assert.equal(await untagged(), 0)
    console.log(`${left} feedback without tags until they were tagged again`)
  }
  const doctorSays = async ({ run }: Restored) => (await run('cli/doctor/doctor-command.ts')).stdout

  it('with Redis as it was: what waited is stored as well, and the doctor counts what is gone', async () => {
    const restored = await restore('Redis kept')
    assert.deepEqual([...waiting.difference(restored.held)], [], 'waited in Redis')
    // The log still has what was applied in the last REDO_SECONDS, after the last purge.
    assert.ok(stored.afterPurge.size > 0)
    assert.deepEqual(
      [...restored.lost.intersection(stored.afterPurge)],
      [],
      'the log has what came after the last purge',
    )
    assert.equal((await restored.ledger()).difference, restored.lost.size)
    assert.match(
      await doctorSays(restored),
      new RegExp(`neither queued nor finished: default ${restored.lost.size}\\.`),
    )
    const lost = { description: 'lost', sourceId: 'lost' }
    const again = await restored.post('/feedbacks', lost, { headers: { 'Idempotency-Key': 'key-of-lost' } })
    const id = again.headers.get('Submission-Id')!
    assert.ok(restored.lost.has(id), 'Redis knows the key for a day')
    const receipt = await restored.request(`/api/v1/submissions/${id}`, undefined, { method: 'GET' })
    assert.equal(receipt.status, 404)
    await restored.accept('/feedbacks', lost, 'another-key')
    await restored.accept('/feedbacks', lost)
    await restored.accept('/feedbacks', { description: 'kept', sourceId: 'kept' })
    await assertNothingDoubled(restored)
    await tagTheRest(restored)
  })

  it('with an empty Redis: what waited is gone as well, and nothing says how much', async () => {
    await redis.flushall()
    const restored = await restore('Redis emptied')
    assert.deepEqual([...waiting.intersection(restored.held)], [], 'Redis was empty')
    assert.deepEqual([...stored.after.intersection(restored.held)], [], 'was stored after the point in time')
    assert.equal((await restored.ledger()).difference, -restored.held.intersection(accepted).size)
    assert.match(await doctorSays(restored), /In 1 workspaces Postgres has more submissions than Redis has accepted\./)
    const lost = { description: 'lost', sourceId: 'lost' }
    assert.ok(!accepted.has(await restored.accept('/feedbacks', lost, 'key-of-lost')))
    const kept = { description: 'kept', sourceId: 'kept' }
    assert.ok(
      accepted.has(await restored.accept('/feedbacks', kept, 'key-of-kept')),
      'Postgres knows the key for a day',
    )
    await restored.accept('/feedbacks', kept)
    await assertNothingDoubled(restored)
    await tagTheRest(restored)
  })
})
