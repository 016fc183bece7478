import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { readEdition } from '../../db/functions.ts'
import { readMigrations } from '../../db/migrate.ts'
import { connectPostgres } from '../../db/postgres.ts'
import { scanKeys } from '../../queue/redis-servers.ts'
import { runCommand } from '../support/command.ts'
import { extract, findFormerVersion, programOf } from '../support/former-version.ts'
import { type Load, startLoad } from '../support/load.ts'
import { readLedgers } from '../support/ledgers.ts'
import { assertNothingLost, recovery } from '../support/recovery.ts'
import { testServers } from '../support/servers.ts'
import { type ServiceProcess, startProcess } from '../support/service-process.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { until } from '../support/until.ts'

const STATEMENT_TIMEOUT_MS = 30_000
/** Submissions that have to be accepted between two steps. */
const BETWEEN_STEPS = 150

const TAKEN_OVER_MS = 90_000
const FORMER_QUEUE = /^\{[^:]*:(feedback|contacts|accounts|conversations|purges)\}/

const former = await findFormerVersion()
const { edition } = await readEdition()

describe('an upgrade', () => {
  if (former === undefined) {
    void it.skip('needs the history of this repository', () => {})
    return
  }
  const directory = temporaryDirectory()
  const { databaseUrl, redisUrl } = testServers()
  const name = `t_${randomBytes(6).toString('hex')}`
  const environment = {
    DATABASE_URL: databaseUrl,
    DATABASE_SCHEMA: name,
    REDIS_URL: redisUrl,
    REDIS_PREFIX: name,
    HASH_KEY: randomBytes(32).toString('hex'),
    BOOTSTRAP_ACCESS_TOKEN: `access-${randomBytes(16).toString('hex')}`,
    BOOTSTRAP_ADMIN_TOKEN: `admin-${randomBytes(16).toString('hex')}`,
    CONVERSATIONS_PER_MINUTE: '1000000',
    PORT: '0',
    WORKER_PORT: '0',
  }
  const accessToken = environment.BOOTSTRAP_ACCESS_TOKEN
  const sql = connectPostgres(databaseUrl, {
    connections: 2,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    applicationName: 'feedback-insights-test',
    schema: name,
  })
  const redis = new Redis(redisUrl)
  const running = new Set<ServiceProcess>()

  const start = async (version: string, program: string, event: string): Promise<ServiceProcess> => {
    const started = await startProcess(join(version, program), event, environment)
    running.add(started)
    return started
  }
  const stop = async (process: ServiceProcess): Promise<void> => {
    running.delete(process)
    await process.stop()
  }
  const startVersion = async (version: string) => {
    const worker = await start(version, 'worker/main.ts', 'working')
    const api = await start(version, 'api/main.ts', 'listening')
    return {
      url: `http://127.0.0.1:${api.port}`,
      stop: async () => {
        await stop(api)
        await stop(worker)
      },
      killWorker: async () => {
        running.delete(worker)
        await worker.kill()
      },
      stopApi: () => stop(api),
    }
  }
  const tryToMigrate = (version: string) => runCommand({ environment }, programOf(version, 'migrate'))
  const migrate = async (version: string): Promise<string> => {
    const { code, stdout, stderr } = await tryToMigrate(version)
    assert.equal(code, 0, stderr)
    return stdout
  }
  const more = async ({ seen: { accepted } }: Load): Promise<void> => {
    const wanted = accepted.size + BETWEEN_STEPS
    await until('more is accepted', () => Promise.resolve(accepted.size >= wanted))
  }
  /** Keys of the former queues that would stay for ever. */
  const formerKeys = async (): Promise<string[]> => {
    const found: string[] = []
    for await (const keys of scanKeys(redis, { match: `{${name}:*`, count: 1_000 })) {
      found.push(...keys.filter((key) => FORMER_QUEUE.test(key)))
    }
    const lives = await Promise.all(found.map((key) => redis.ttl(key)))
    return found.filter((_, at) => lives[at] === -1)
  }
  const assertServed = ({ seen }: Load): void => {
    const { wrong, refused, unknown, late } = seen
    assert.deepEqual({ wrong, refused, unknown, late }, { wrong: [], refused: 0, unknown: 0, late: 0 })
  }

  before(async () => {
    extract(former, directory)
    await sql`create schema ${sql(name)}`
  })
  after(async () => {
    await Promise.allSettled([...running].map(stop))
    await sql`drop schema if exists ${sql(name)} cascade`
    await sql.end({ timeout: 5 })
    redis.disconnect()
  })

  it('has only added to the migrations', async () => {
    for (const migration of await readMigrations()) {
      for (const file of migration.name.split(', ')) {
        const released = join(directory, 'db/migrations', file)
        if (!existsSync(released)) continue
        const text = readFileSync(new URL(`../../db/migrations/${file}`, import.meta.url), 'utf8')
        assert.ok(readFileSync(released, 'utf8') === text, `${file} was changed after it had been released`)
      }
    }
  })

  it(`to edition ${edition}, while the version before it serves: nothing is refused, nothing lost`, async () => {
    await migrate(directory)
    const old = await startVersion(directory)
    const oldLoad = startLoad({ url: old.url, accessToken })
    await more(oldLoad)
    assert.match(await migrate('.'), new RegExp(`applied functions, edition ${edition}`))
    await more(oldLoad)
    // One of the old version that restarts meanwhile, as after a crash, leaves the schema alone and starts as ever.
    const { stdout, stderr } = await tryToMigrate(directory)
    assert.match(stdout + stderr, /up to date|Start a newer version/)
    const restarted = await startVersion(directory)
    await more(oldLoad)
    await restarted.stop()
    assert.match(await migrate('.'), /up to date/)
    const now = await startVersion('.')
    const newLoad = startLoad({ url: now.url, accessToken })
    await Promise.all([more(oldLoad), more(newLoad)])
    await oldLoad.stop()
    await old.stop()
    await more(newLoad)
    await newLoad.stop()
    assertServed(oldLoad)
    assertServed(newLoad)
    const seen = { ...newLoad.seen, accepted: new Map([...oldLoad.seen.accepted, ...newLoad.seen.accepted]) }
    const ms = await recovery({ url: now.url, accessToken, sql }, seen)
    console.log(
      `${oldLoad.seen.accepted.size} and ${newLoad.seen.accepted.size} accepted, all settled after ${Math.round(ms)} ms`,
    )
    await assertNothingLost({ sql, redis, prefix: name }, seen)
    await now.stop()
  })

  it('with workers of the version before that were killed: what they had and what waited for them is taken over', async () => {
    const old = await startVersion(directory)
    const oldLoad = startLoad({ url: old.url, accessToken })
    await more(oldLoad)
    await old.killWorker()
    await more(oldLoad)
    await oldLoad.stop()
    await old.stopApi()
    assertServed(oldLoad)
    const [ledger] = await readLedgers(sql, redis, name)
    // The version before counts in another way what it has queued.
    const left = ledger!.queued + ledger!.difference
    assert.ok(left >= BETWEEN_STEPS, `${left} wait`)
    const now = await startVersion('.')
    const ms = await recovery({ url: now.url, accessToken, sql }, oldLoad.seen)
    console.log(`${left} were left by the version before, all settled after ${Math.round(ms)} ms`)
    await assertNothingLost({ sql, redis, prefix: name }, oldLoad.seen)
    // Jobs that a killed worker had in hand are its own until its locks have run out.
    await until(
      'the queues of the version before are gone',
      async () => (await formerKeys()).length === 0,
      TAKEN_OVER_MS,
    )
    await now.stop()
  })
})
