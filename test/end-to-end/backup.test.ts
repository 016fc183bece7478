import assert from 'node:assert/strict'
import { once } from 'node:events'
import { appendFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { startPostgres } from '../../cli/start/embedded/postgres-server.ts'
import { BACKUP_TABLES } from '../../db/backup/backup-tables.ts'
import { connectPostgres, type Sql } from '../../db/connection/postgres.ts'
import { migrate, readMigrations } from '../../db/schema/migrate.ts'
import { type CommandResult, outputOf, runCommand } from '../support/command.ts'
import { holdWork, resumeWork } from '../support/hold-work.ts'
import { feedbackBody, injectDead } from '../support/inject.ts'
import { emptySchema, type TestSchema } from '../support/schema.ts'
import { removeKeys, type Service, startService, submissionIdOf } from '../support/service.ts'
import { spawnProgram, startProcess } from '../support/service-process.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { until } from '../support/until.ts'

const BACKUP = 'cli/backup/backup-command.ts'
const RESTORE = 'cli/backup/restore-command.ts'
const VERIFY = 'cli/purge/verify-command.ts'
const TEXT = 'Ünïcode 😀, "quotes", \\n, \\., \t tab\r\n, null, \u2028 and {braces}'
/** Each is purged at another time: long before the backup, after it, and while submissions wait. */
const PURGED = { before: 'wilhelmina', after: 'bartholomew', waiting: 'aurelia' }

type Environment = Readonly<Record<string, string>>
type Target = { environment: Environment; schema: TestSchema }

/** All rows as text, by table. */
const rowsOf = async (sql: Sql): Promise<Record<string, string[]>> => {
  const rows: Record<string, string[]> = {}
  for (const table of BACKUP_TABLES) {
    const found = await sql.unsafe<{ row: string }[]>(`select t::text as row from ${table} as t`)
    rows[table] = found.map(({ row }) => row).toSorted()
  }
  return rows
}

describe('npm run backup', () => {
  const folder = temporaryDirectory()
  const out = join(folder, 'backup')
  const laterPurges = join(folder, 'later.ndjson')
  const targets: Target[] = []
  let service: Service
  let rows: Record<string, string[]>
  let waiting: string[]

  const run = (environment: Environment, program: string, ...words: string[]): Promise<CommandResult> =>
    runCommand({ environment }, program, ...words)
  const succeed = (environment: Environment, program: string, ...words: string[]): Promise<string> =>
    outputOf({ environment }, program, ...words)
  /** An empty database and an empty Redis, like those of another machine. */
  const makeTarget = async (): Promise<Target> => {
    const schema = await emptySchema()
    const place = { DATABASE_SCHEMA: schema.name, REDIS_PREFIX: schema.name }
    const target = { schema, environment: { ...service.environment, ...place } }
    targets.push(target)
    return target
  }
  const submitOf = async (name: string, index: number): Promise<void> => {
    const contact = { id: name, properties: { $email: `${name}@example.com`, $name: name } }
    const createdAt = '2026-01-01T00:00:00.123456Z'
    const messages = [{ id: 'm', incoming: true, contactId: name, content: `${name} asks`, createdAt }]
    await service.submit('/contacts/identify', contact)
    await service.submit('/feedbacks', { description: `of ${name}`, contact: { email: `${name}@example.com` } })
    const contacts = [contact, { id: 'another' }]
    await service.submit('/conversations', { id: `c ${index}`, source: 'chat', createdAt, contacts, messages })
  }
  const purge = async (name: string): Promise<void> => {
    const answer = await service.post('/contacts/purge', { id: name }, { token: service.adminToken })
    assert.equal(await service.settled(answer), 'applied')
  }

  before(async () => {
    service = await startService()
    for (const [index, name] of Object.values(PURGED).entries()) await submitOf(name, index)
    const sourceData = { $null: null, text: TEXT, number: 0.1, long: '12345678901234567890' }
    await service.submit('/feedbacks', { description: TEXT, sourceId: 't', sourceData, rating: 0.30000000000000004 })
    await service.sql`update feedback set source_data = 'null' where source_id is null`
    await purge(PURGED.before)
    await injectDead(service, service.queues, { body: feedbackBody('dies \u0000') })
    const contact = { email: `${PURGED.after}@example.com` }
    await injectDead(service, service.queues, { body: feedbackBody('dies, too \u0000', { contact }) })
    await until('the use of the tokens is noted', async () => {
      const tokens = await service.sql`select from token where last_used_on is null`
      return tokens.count === 0
    })
    await holdWork(service.queues)
    const sent = [
      await service.post('/feedbacks', { description: 'waits', sourceId: 'w' }),
      await service.post('/feedbacks', {
        description: 'waits too',
        contact: { email: `${PURGED.waiting}@example.com` },
      }),
    ]
    waiting = sent.map(submissionIdOf)
    rows = await rowsOf(service.sql)
    assert.match(
      await succeed(service.environment, BACKUP, '--out', out),
      /backup: \d+ rows, 2 waiting submissions, 3 purged keys\n.*hash\.key is HASH_KEY\. Keep the folder as secret/,
    )
    await resumeWork(service.queues)
    await purge(PURGED.waiting)
    await purge(PURGED.after)
    writeFileSync(laterPurges, await succeed(service.environment, 'cli/purge/export-command.ts'))
  })
  after(async () => {
    await Promise.all(
      targets.map(async ({ schema }) => {
        await removeKeys(service.redis, schema.name)
        await schema.drop()
      }),
    )
    await service?.stop()
  })

  const mode = (path: string): number => statSync(path).mode & 0o777

  it('lists each table of the schema, except the notes of the migration', async () => {
    const tables = await service.sql<{ name: string }[]>`
      select relname as name from pg_class
      where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition`
    const names = [...BACKUP_TABLES, 'schema_migration', 'schema_functions']
    assert.deepEqual(tables.map(({ name }) => name).toSorted(), names.toSorted())
  })

  it('writes files that only their owner can read, and leaves no draft', () => {
    assert.equal(mode(out), 0o700)
    for (const file of ['hash.key', 'backup.json', 'waiting.ndjson', 'purged-keys.ndjson', 'tables/contact.ndjson'])
      assert.equal(mode(join(out, file)), 0o600, file)
    assert.equal(readFileSync(join(out, 'hash.key'), 'utf8'), `${service.environment['HASH_KEY']}\n`)
    assert.equal(existsSync(`${out}.part`), false)
  })

  it('restores the same rows elsewhere, and queues the waiting submissions', async () => {
    const { environment, schema } = await makeTarget()
    const printed = await succeed(environment, RESTORE, '--from', out)
    assert.match(printed, /^\d+ rows restored, 2 waiting submissions queued\.$/m)
    assert.match(printed, /^3 purged keys read, 0 contacts purged again, none of them left\.$/m)
    assert.deepEqual(await rowsOf(schema.sql), rows)
    const again = await run(environment, RESTORE, '--from', out)
    assert.match(
      again.stderr,
      /^The database is in use: The table workspace_progress|^The database is in use: The table \w+ has rows\./,
    )
    assert.equal(again.code, 1)
  })

  it('with a later export of purges, leaves nothing of purged contacts, and the waiting are applied', async () => {
    const { environment, schema } = await makeTarget()
    const printed = await succeed(environment, RESTORE, '--from', out, '--purges', laterPurges)
    assert.match(printed, /^\d+ rows restored, 1 waiting submissions queued\.$/m)
    assert.match(printed, /^\d+ purged keys read, 2 contacts purged again, none of them left\.$/m)
    const worker = await startProcess('worker/main.ts', 'working', { ...environment })
    const api = await startProcess('api/main.ts', 'listening', { ...environment })
    try {
      // The other one is of a contact that was purged since.
      await until('a waiting submission is settled', async () => {
        const found = await schema.sql`
          select from submission where id = any (${waiting}::uuid[]) and state <> 'queued'`
        return found.count === 1
      })
      assert.equal((await schema.sql`select from feedback where source_id = 'w'`).count, 1)
      const strings = Object.values(PURGED).flatMap((name) => ['--text', name])
      assert.match(await succeed(environment, VERIFY, ...strings), /^text 3: found nowhere$/m)
      assert.equal((await schema.sql`select from feedback where source_id = 't'`).count, 1)
      assert.equal((await schema.sql`select from dead_submission`).count, 1)
    } finally {
      await api.stop()
      await worker.stop()
    }
  })

  it('restores into a new DATA_DIR, with the key', async () => {
    const dataDir = join(folder, 'data')
    const { HASH_KEY, LOG_LEVEL = 'info' } = service.environment
    const environment = { DATA_DIR: dataDir, LOG_LEVEL }
    assert.match(
      await succeed(environment, RESTORE, '--from', out),
      /^DATA_DIR has the data and the key: run npm start\.$/m,
    )
    assert.equal(readFileSync(join(dataDir, 'hash.key'), 'utf8').trim(), HASH_KEY)
    const postgres = await startPostgres({ dataDir: join(dataDir, 'postgres') })
    const sql = connectPostgres(postgres.url, { connections: 1, statementTimeoutMs: 10_000, applicationName: 'test' })
    try {
      assert.deepEqual(await rowsOf(sql), rows)
    } finally {
      await sql.end()
      await postgres.stop()
    }
    writeFileSync(join(dataDir, 'hash.key'), `${'0'.repeat(64)}\n`)
    const { code, stderr } = await run(environment, RESTORE, '--from', out)
    assert.match(stderr, /data has another key than the backup/)
    assert.equal(code, 1)
  })

  /** Runs a command while another transaction has a lock, and kills the command when it waits. */
  const killWhileLocked = async (
    { environment, sql }: { environment: Environment; sql: Sql },
    lock: string,
    [program, ...words]: [string, ...string[]],
  ): Promise<void> => {
    const transaction = await sql.reserve()
    await transaction.unsafe(`begin; lock table submission in ${lock} mode`)
    const [{ pid }] = await transaction<[{ pid: number }]>`select pg_backend_pid() as pid`
    const child = spawnProgram(program, words, { ...environment })
    const ended = once(child, 'close')
    // Workers wait for the table as well, under names of their own.
    await until('the command waits for the lock', async () => {
      const waits = await sql`
        select from pg_stat_activity
        where ${pid} = any (pg_blocking_pids(pid)) and application_name !~ '^feedback-insights-(api|worker)'`
      return waits.count > 0
    })
    child.kill('SIGKILL')
    await ended
    await transaction.unsafe('rollback')
    transaction.release()
  }

  it('that is killed leaves a draft by its name, which no restore takes for a backup', async () => {
    const killed = join(folder, 'killed')
    const { sql } = service
    await killWhileLocked({ environment: service.environment, sql }, 'access exclusive', [BACKUP, '--out', killed])
    assert.deepEqual([existsSync(killed), existsSync(`${killed}.part`)], [false, true])
    const target = await makeTarget()
    for (const half of [killed, `${killed}.part`]) {
      const { code, stderr } = await run(target.environment, RESTORE, '--from', half)
      assert.match(stderr, /is no whole backup: backup\.json cannot be read/)
      assert.equal(code, 1)
    }
    const again = await run(service.environment, BACKUP, '--out', killed)
    assert.match(again.stderr, /killed\.part is the draft of another backup\. If no backup runs, .*: delete the folder/)
    rmSync(`${killed}.part`, { recursive: true })
    await succeed(service.environment, BACKUP, '--out', killed)
    assert.match((await run(service.environment, BACKUP, '--out', killed)).stderr, /killed exists already/)
  })

  it('that fails leaves no draft', async () => {
    const failed = join(folder, 'failed')
    const { code, stderr } = await run({ ...service.environment, HASH_KEY: 'f'.repeat(64) }, BACKUP, '--out', failed)
    assert.match(stderr, /^HASH_KEY is not the one/)
    assert.deepEqual([code, existsSync(failed), existsSync(`${failed}.part`)], [1, false, false])
  })

  it('gives a backup whose restore can be killed at any moment and run again', async () => {
    const { environment, schema } = await makeTarget()
    await migrate(schema.sql, await readMigrations())
    await killWhileLocked({ environment, sql: schema.sql }, 'exclusive', [RESTORE, '--from', out])
    assert.equal((await schema.sql`select from contact`).count, 0)
    await succeed(environment, RESTORE, '--from', out)
    assert.deepEqual(await rowsOf(schema.sql), rows)
  })

  it('notes the hash of each file, so that a damaged backup is refused before anything is written', async () => {
    const damaged = join(folder, 'damaged')
    await succeed(service.environment, BACKUP, '--out', damaged)
    appendFileSync(join(damaged, 'tables', 'contact.ndjson'), '\n')
    const { environment, schema } = await makeTarget()
    const { code, stderr } = await run(environment, RESTORE, '--from', damaged)
    assert.match(stderr, /contact\.ndjson is missing or damaged\. Use another copy/)
    assert.equal(code, 1)
    const tables = await schema.sql`select from pg_class where relnamespace = current_schema()::regnamespace`
    assert.equal(tables.count, 0)
  })
})
