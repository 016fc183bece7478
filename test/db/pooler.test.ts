import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { connectPostgres } from '../../db/connection/postgres.ts'
import { runCommand } from '../support/command.ts'
import { testServers } from '../support/servers.ts'
import { requestsTo, type Service } from '../support/service.ts'
import { killAtExit, type ServiceProcess, startProcess } from '../support/service-process.ts'
import { assertEqualsModel, startHistoryService, submitHistory } from '../support/submitted-history.ts'
import { until } from '../support/until.ts'
import { describeWhere, missingProgram } from '../support/where.ts'
import { findFreePort, isPortFree } from '../../cli/start/embedded/free-port.ts'

type Pooler = { readonly url: string; readonly stop: () => Promise<void> }

/**
 * Starts PgBouncer in transaction mode before a server, with fewer connections than clients. Each
 * connection begins in this schema.
 */
const startPgbouncer = async (databaseUrl: string, schema: string): Promise<Pooler> => {
  const { hostname, port: serverPort, username, password, pathname } = new URL(databaseUrl)
  const directory = mkdtempSync(join(tmpdir(), 'feedback-insights-pooler-'))
  // PgBouncer changes from root to another user before it reads its files.
  chmodSync(directory, 0o755)
  const port = await findFreePort()
  const users = join(directory, 'users')
  writeFileSync(users, `"${username}" "${decodeURIComponent(password)}"\n`)
  const file = join(directory, 'pgbouncer.ini')
  const database = `host=${hostname} port=${serverPort} dbname=${pathname.slice(1)}`
  const lines = [
    '[databases]',
    `pooled = ${database} connect_query='set search_path = ${schema}'`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = scram-sha-256',
    `auth_file = ${users}`,
    'pool_mode = transaction',
    'default_pool_size = 4',
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  const userOption = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const child = spawn('pgbouncer', ['-q', ...userOption, file], { stdio: ['ignore', 'ignore', 'inherit'] })
  killAtExit(child)
  await until('the pooler listens', async () => !(await isPortFree(port)))
  return {
    url: `postgres://${username}:${password}@127.0.0.1:${port}/pooled`,
    stop: async () => {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** Variables that PgBouncer keeps for each client. */
const KEPT = ['TimeZone', 'application_name', 'client_encoding']

describe('for a pooler in transaction mode', () => {
  it('a connection prepares no statements, and sets only variables that PgBouncer keeps for each client', async () => {
    const { databaseUrl } = testServers()
    const options = {
      connections: 1,
      statementTimeoutMs: 1_234,
      applicationName: 'test',
      schema: 'public',
      isReadOnly: true,
    }
    const [direct, pooled] = [
      connectPostgres(databaseUrl, options),
      connectPostgres(databaseUrl, { ...options, pooler: 'transaction' }),
    ]
    const sessionOf = async (sql: typeof direct) => {
      await sql`select ${'a'}::text`
      const [{ prepared }] = await sql<
        [{ prepared: number }]
      >`select count(*)::int as prepared from pg_prepared_statements`
      const set = await sql<{ name: string }[]>`
        select name from pg_settings where source = 'client' and name <> all (${KEPT}::text[])`
      return { prepares: prepared > 0, set: set.map(({ name }) => name).toSorted() }
    }
    try {
      assert.deepEqual(await sessionOf(direct), {
        prepares: true,
        set: [
          'default_transaction_read_only',
          'enable_seqscan',
          'idle_in_transaction_session_timeout',
          'lock_timeout',
          'max_parallel_workers_per_gather',
          'search_path',
          'statement_timeout',
        ],
      })
      assert.deepEqual(await sessionOf(pooled), { prepares: false, set: [] })
    } finally {
      await direct.end({ timeout: 5 })
      await pooled.end({ timeout: 5 })
    }
  })
})

describeWhere('behind PgBouncer in transaction mode', missingProgram('pgbouncer'), () => {
  let service: Service
  let pooler: Pooler
  let api: ServiceProcess
  let worker: ServiceProcess
  const pooledEnvironment = () => ({
    ...service.environment,
    DATABASE_URL: pooler.url,
    DATABASE_POOLER: 'transaction',
    DATABASE_SCHEMA: '',
  })
  before(async () => {
    service = await startHistoryService({ apis: 0, workers: 0 })
    pooler = await startPgbouncer(service.environment['DATABASE_URL']!, service.environment['DATABASE_SCHEMA']!)
    api = await startProcess('api/main.ts', 'listening', pooledEnvironment())
    worker = await startProcess('worker/main.ts', 'working', pooledEnvironment())
  })
  after(async () => {
    await worker?.stop()
    await api?.stop()
    await pooler?.stop()
    await service?.stop()
  })

  it('submissions are accepted and stored, and contacts are purged', async () => {
    const urls = [`http://127.0.0.1:${api.port}`]
    const own = { ...service, urls, ...requestsTo(urls, service.accessToken, service.sql) }
    const { confirmed, refused } = await submitHistory(own, 200)
    assert.equal(refused, 0)
    await assertEqualsModel(own, confirmed)
  })

  it('the doctor reaches the server, and takes it for one server if reads go past the pooler', async () => {
    const environment = { ...pooledEnvironment(), READS_DATABASE_URL: service.environment['DATABASE_URL']! }
    const { stdout } = await runCommand({ environment }, 'cli/doctor/doctor-command.ts')
    assert.match(stdout, /^well +Postgres \d.* answers/m)
    assert.doesNotMatch(stdout, /cannot be reached|independent primaries/)
  })
})
