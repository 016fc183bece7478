import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { startRedis } from '../../cli/start/embedded/redis-server.ts'
import type { EmbeddedServer } from '../../cli/start/embedded/server.ts'
import { writeServiceFile } from '../../runtime/service-file.ts'
import { workspaceKeys } from '../../queue/keys.ts'
import { feedbackBody, inject } from '../support/inject.ts'
import { holdWork, resumeWork } from '../support/hold-work.ts'
import { serveHttp } from '../support/http-server.ts'
import { DEAD_PROXY } from '../support/service-process.ts'
import { until } from '../support/until.ts'
import { runCommand } from '../support/command.ts'
import type { Service } from '../support/service.ts'
import { operatedService } from '../support/shared-service.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const PROGRAM = 'cli/doctor/doctor-command.ts'
const AWAY = 'postgres://stranger:secret-word@127.0.0.1:1/none'

describe('the doctor', () => {
  const folder = temporaryDirectory()
  let service: Service
  let redis: EmbeddedServer
  before(async () => {
    service = await operatedService()
    // A directory in place of the file keeps Redis from writing a snapshot.
    mkdirSync(join(folder, 'redis', 'taken.rdb'), { recursive: true })
    redis = await startRedis({
      dataDir: join(folder, 'redis'),
      maxMemoryBytes: 64 * 1024 * 1024,
      settings: ['dbfilename taken.rdb'],
    })
  })
  after(async () => {
    await redis?.stop()
  })

  const run = async (changes: Readonly<Record<string, string>> = {}) => {
    const dataDir = { DATA_DIR: join(folder, 'nothing-here') }
    const { code, stdout, stderr } = await runCommand(
      { environment: { ...service.environment, ...dataDir, ...changes } },
      PROGRAM,
    )
    const lines = stdout.split('\n')
    const [wrong, warnings] = ['wrong ', 'warning '].map((state) => lines.filter((line) => line.startsWith(state)))
    return { code, stdout, stderr, wrong: wrong!, warnings: warnings! }
  }
  const atRedis = async (change: (client: Redis) => Promise<unknown>): Promise<Awaited<ReturnType<typeof run>>> => {
    const client = new Redis(redis.url)
    try {
      await change(client)
      return await run({ REDIS_URL: redis.url })
    } finally {
      await client.quit()
    }
  }

  const verifyNamesSnapshots = async (): Promise<boolean> => {
    const environment = { ...service.environment, REDIS_URL: redis.url }
    const { stdout } = await runCommand({ environment }, 'cli/purge/verify-command.ts', '--id', 'nowhere')
    assert.match(stdout, /^id 1: found nowhere/)
    return /^not searched: snapshots of Redis/m.test(stdout)
  }

  it('finds no fault of a healthy service', async () => {
    await writeServiceFile(folder, {
      url: service.urls[0]!,
      databaseUrl: service.environment['DATABASE_URL']!,
      databaseSchema: service.environment['DATABASE_SCHEMA'],
      redisUrl: service.environment['REDIS_URL']!,
      redisPrefix: service.redisPrefix,
      hashKey: service.environment['HASH_KEY']!,
    })
    // The command finds the other settings in a file of this directory.
    const { code, stdout } = await runCommand({ environment: { ...DEAD_PROXY, DATA_DIR: folder } }, PROGRAM)
    assert.equal(code, 0, stdout)
    for (const pattern of [
      /^well +Runs on (?:Bun|Deno) /m,
      /^(?:well|warning) +\d+ MiB are free in DATA_DIR/m,
      /^well +The API at http:\/\/127\.0\.0\.1:\d+ is ready/m,
      /^well +Postgres \d+\.\d+(?: \(.+\))? answers\.$/m,
      /^well +The database is migrated/m,
      /^well +HASH_KEY is the one of this database/m,
      /^well +Live tokens: \d may submit, 1 purge, \d operate/m,
      /^well +No submission is dead/m,
      /^well +Redis \d+/m,
      /^well +Redis evicts nothing/m,
      /^well +Redis has an append-only file/m,
      /^well +Redis keeps no snapshots/m,
      /^well +The clock of Postgres is \d+ ms/m,
      /^well +The clock of Redis is \d+ ms/m,
      /^well +\d+ jobs? waits?; [1-9]\d* worker process(?: runs|es run)/m,
      /^well +0 submissions are accepted and not applied/m,
      /^0 wrong, /m,
    ]) {
      assert.match(stdout, pattern)
    }
  })

  it('reports all settings that are missing or bad', async () => {
    const { code, wrong } = await run({ HASH_KEY: 'abc', REDIS_URL: 'http://x', DATABASE_URL: '' })
    assert.equal(code, 1)
    for (const name of ['HASH_KEY', 'REDIS_URL', 'DATABASE_URL'])
      assert.ok(
        wrong.some((line) => line.includes(name)),
        name,
      )
  })

  it('hides no other finding because of bad settings', async () => {
    const bad = { MAX_BACKLOG: 'many', PORT: 'x', HASH_KEY: 'abc', READS_DATABASE_URL: 'x' }
    const { wrong, stdout } = await run(bad)
    assert.equal(wrong.length, Object.keys(bad).length, stdout)
    for (const pattern of [/^well +Postgres \d+/m, /^well +No submission is dead/m, /^well +\d+ jobs? waits?/m])
      assert.match(stdout, pattern)
    assert.match((await run({ DATABASE_SCHEMA: 'A-B' })).stdout, /^well +Redis \d+/m)
    assert.match((await run({ REDIS_PREFIX: 'A B' })).stdout, /^well +Postgres \d+/m)
  })

  it('reports servers that are away, and shows no password', async () => {
    const { code, wrong, stdout } = await run({ DATABASE_URL: AWAY, REDIS_URL: 'redis://:secret-word@127.0.0.1:1' })
    assert.equal(code, 1)
    for (const server of ['Postgres', 'Redis'])
      assert.ok(wrong.some((line) => line.includes(`${server} cannot be reached: nothing listens at its address`)))
    assert.ok(!stdout.includes('secret-word'))
  })

  it('takes two addresses of one server for one server', async () => {
    const url = new URL(service.environment['DATABASE_URL']!)
    url.hostname = url.hostname === 'localhost' ? '127.0.0.1' : 'localhost'
    const { stdout } = await run({ READS_DATABASE_URL: url.href })
    assert.doesNotMatch(stdout, /independent primaries|cannot be reached/)
  })

  it('reports another HASH_KEY and a database that is empty, behind or ahead', async () => {
    const other = await run({ HASH_KEY: randomBytes(32).toString('hex') })
    assert.deepEqual([other.code, other.wrong.length], [1, 1])
    assert.match(other.wrong[0]!, /HASH_KEY is not the one/)
    const empty = await run({ DATABASE_SCHEMA: `${service.environment['DATABASE_SCHEMA']}_none` })
    assert.match(empty.stdout, /^wrong +The database is empty\.\n +→ Run: npm run migrate/m)
    const applied = await service.sql<{ number: number; name: string; checksum: string }[]>`
      delete from schema_migration returning number, name, checksum`
    try {
      assert.match((await run()).stdout, /^wrong +Migrations are missing: 0001_.*\n +→ Run: npm run migrate/m)
      await service.sql`insert into schema_migration (number, name, checksum) values (9999, '9999_later.sql', 'x')`
      assert.match((await run()).stdout, /^wrong +The database is at migration 9999.*\n +→ Start a newer version/m)
    } finally {
      await service.sql`delete from schema_migration where number = 9999`
      await service.sql`insert into schema_migration ${service.sql(applied)}`
    }
    await service.sql`update schema_functions set checksum = reverse(checksum)`
    try {
      assert.match((await run()).stdout, /^wrong +The functions of the database are not those of this version/m)
    } finally {
      await service.sql`update schema_functions set checksum = reverse(checksum)`
    }
  })

  it('reports a Redis that would lose work, keep purged data or refuse writes', async () => {
    const evicting = await atRedis((client) => client.config('SET', 'maxmemory-policy', 'allkeys-lru'))
    assert.equal(evicting.code, 1)
    assert.ok(evicting.wrong.some((line) => line.includes('maxmemory-policy allkeys-lru')))
    for (const program of ['api/main.ts', 'worker/main.ts']) {
      const environment = { ...service.environment, REDIS_URL: redis.url }
      const { code, stdout, stderr } = await runCommand({ environment }, program)
      assert.equal(code, 1)
      assert.match(stdout + stderr, /maxmemory-policy allkeys-lru/)
    }
    await atRedis((client) => client.config('SET', 'maxmemory-policy', 'noeviction'))
    const several = await atRedis(async (client) => {
      await client.config('SET', 'appendfsync', 'everysec')
      await client.config('SET', 'slowlog-log-slower-than', '10000')
      await client.config('SET', 'save', '3600 1')
    })
    assert.match(several.stdout, /^warning +Redis keeps a slow log, which may hold content of submissions/m)
    assert.match(several.stdout, /^warning +Redis keeps snapshots: purged data stays in them/m)
    assert.match(
      several.stdout,
      /^warning +Redis syncs its append-only file with appendfsync everysec: if it is killed/m,
    )
    const bare = await atRedis((client) => client.config('SET', 'appendonly', 'no'))
    assert.ok(bare.wrong.some((line) => line.includes('no append-only file')))
    // No worker uses this Redis.
    assert.match(bare.stdout, /^wrong +No worker is running\..*\n +→ Start a worker/m)
    assert.equal(await verifyNamesSnapshots(), true)
    const stopped = await atRedis(async (client) => {
      await client.bgsave()
      await until('the snapshot has failed', async () => /^rdb_last_bgsave_status:err/m.test(await client.info()))
    })
    assert.equal(stopped.code, 1)
    assert.match(
      stopped.stdout,
      /^wrong +Redis could not write its last snapshot.*MISCONF.*\n +→ .*config set save ""/m,
    )
    await atRedis((client) => client.config('SET', 'save', ''))
    assert.equal(await verifyNamesSnapshots(), false)
    const full = await atRedis((client) => client.config('SET', 'maxmemory', '1mb'))
    assert.ok(full.wrong.some((line) => line.includes('Redis is nearly full. Submissions are refused')))
  })

  it('reports missing tokens and dead submissions', async () => {
    const revoked = await service.sql`update token set revoked_at = now() where revoked_at is null returning id`
    await service.sql`
      insert into dead_submission (workspace_id, id, reason, submission, keys, replayed_at)
      select ${service.workspaceId}::uuid, gen_random_uuid(), 'Error 22P05', '{}', '{}', queued_again
      from unnest(array[null, now()]) as queued_again`
    try {
      const { code, stdout } = await run()
      assert.match(stdout, /^warning +Live tokens: 0 may submit.*\n +→ No token can submit/m)
      assert.match(stdout, /^warning +1 submission is dead, the newest since 20/m)
      assert.equal(code, 0, stdout)
    } finally {
      await service.sql`delete from dead_submission`
      await service.sql`update token set revoked_at = null where id in ${service.sql(revoked.map(({ id }) => id as string))}`
    }
  })

  it('reports a worker that ended at its work, and a submission that may end workers', async () => {
    const { queues, redisPrefix, workspaceId } = service
    const { state } = workspaceKeys(redisPrefix, workspaceId)
    await holdWork(queues)
    try {
      await inject(service, queues, { body: feedbackBody('left') })
      await service.redis.hset(state, { holder: 'gone', until: Date.now() - 60_000, deaths: 2 })
      const { stdout } = await run()
      assert.match(stdout, /^warning +In 1 workspace a worker ended while it applied submissions/m)
      assert.match(stdout, /^warning +In 1 workspace a submission is suspected of ending workers/m)
    } finally {
      await service.redis.hdel(state, 'holder', 'until', 'deaths')
      await resumeWork(queues)
    }
  })

  it('reports ports that another program has, and an API that has ended', async () => {
    const { url, stop } = await serveHttp((_request, response) => response.end('something else'))
    const { port } = new URL(url)
    try {
      const { code, wrong } = await run({ PORT: port, WORKER_PORT: port })
      assert.equal(code, 1)
      assert.ok(wrong.some((line) => line.includes('Another program listens at ') && line.includes(`:${port}`)))
      assert.ok(wrong.some((line) => line.includes(`WORKER_PORT ${port} on 127.0.0.1 is taken`)))
    } finally {
      stop()
    }
    const others = { databaseSchema: undefined, redisPrefix: undefined, databaseUrl: '', redisUrl: '', hashKey: '' }
    await writeServiceFile(folder, { url, ...others })
    const gone = await run({ DATA_DIR: folder })
    assert.ok(gone.wrong.some((line) => line.includes(`No API answers at ${url}`)))
  })

  it('refuses unknown options', async () => {
    const { environment } = service
    const { code, stderr } = await runCommand({ environment }, PROGRAM, '--nonsense')
    assert.equal(code, 1)
    assert.match(stderr, /usage: npm run doctor/)
  })
})
