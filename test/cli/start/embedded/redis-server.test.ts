import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { after, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { explainDamage } from '../../../../cli/start/embedded/damaged-file.ts'
import { type RedisOptions, startRedis } from '../../../../cli/start/embedded/redis-server.ts'
import type { EmbeddedServer } from '../../../../cli/start/embedded/server.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

const ask = async <T>(url: string, question: (redis: Redis) => Promise<T>): Promise<T> => {
  const redis = new Redis(url, { maxRetriesPerRequest: 0, retryStrategy: () => null })
  redis.on('error', () => {})
  try {
    return await question(redis)
  } finally {
    redis.disconnect()
  }
}

describe('the embedded Redis', () => {
  // The configuration of Redis has to escape the blank and the quotation marks.
  const dataDir = join(temporaryDirectory(), 'its "data"')
  const started: EmbeddedServer[] = []
  const start = async (options: Partial<RedisOptions> = {}): Promise<EmbeddedServer> => {
    const server = await startRedis({ dataDir, ...options })
    started.push(server)
    return server
  }
  after(async () => {
    for (const server of started) await server.stop()
  })

  it('has an append-only file, evicts no key, has no slow log, and serves this machine only', async () => {
    const { url } = await start()
    const names = ['appendonly', 'appendfsync', 'maxmemory-policy', 'slowlog-log-slower-than', 'bind'] as const
    const settings = await ask(url, (redis) => Promise.all(names.map((name) => redis.config('GET', name))))
    assert.deepEqual(settings, [
      ['appendonly', 'yes'],
      ['appendfsync', 'no'],
      ['maxmemory-policy', 'noeviction'],
      ['slowlog-log-slower-than', '-1'],
      ['bind', '127.0.0.1'],
    ])
  })

  it('has options for its memory and its syncing', async () => {
    const { url } = await start({ maxMemoryBytes: 64_000_000, appendFsync: 'always' })
    assert.deepEqual(await ask(url, (redis) => redis.config('GET', 'maxmemory')), ['maxmemory', '64000000'])
    assert.deepEqual(await ask(url, (redis) => redis.config('GET', 'appendfsync')), ['appendfsync', 'always'])
  })

  it('asks for the password, which only its owner can read', async () => {
    const { port } = await start()
    await assert.rejects(
      ask(`redis://127.0.0.1:${port}`, (redis) => redis.get('key')),
      /NOAUTH/,
    )
    for (const file of ['password', 'redis.conf']) assert.equal(statSync(join(dataDir, file)).mode & 0o777, 0o600)
  })

  it('starts again after kill -9 with the confirmed data', async () => {
    const first = await start()
    await ask(first.url, async (redis) => {
      await redis.set('killed', 'kept')
      process.kill(first.pid, 'SIGKILL')
    })
    assert.equal(await first.exited, 'ended with SIGKILL')
    const second = await start()
    assert.equal(await ask(second.url, (redis) => redis.get('killed')), 'kept')
  })

  it('explains a damaged append-only file: its place, the repair, and the loss', async () => {
    const { url, stop } = await start()
    const keys = Array.from({ length: 100 }, (_none, at) => `key ${at}`)
    await ask(url, (redis) => Promise.all(keys.map((key) => redis.set(key, 'value'))))
    await stop()
    const folder = join(dataDir, 'appendonlydir')
    const name = readdirSync(folder).find((file) => file.endsWith('.incr.aof'))!
    const bytes = readFileSync(join(folder, name))
    bytes.write('X', bytes.indexOf('*3', bytes.length / 2))
    writeFileSync(join(folder, name), bytes)
    const failed: unknown = await startRedis({ dataDir }).catch((error: unknown) => error)
    assert.ok(failed instanceof Error)
    assert.ok(failed.message.startsWith(`Redis did not start: its append-only file is damaged, in ${folder}/`))
    assert.match(failed.message, /loses for good all submissions after the damage that Postgres does not have yet/)
    const command = /^ {2}(.* --fix .*)$/m.exec(failed.message)?.[1]
    assert.ok(command)
    const mended = spawnSync('sh', ['-c', `echo y | ${command}`], { encoding: 'utf8' })
    assert.equal(mended.status, 0, mended.stdout + mended.stderr)
    const again = await start()
    const kept = await ask(again.url, (redis) => redis.dbsize())
    assert.ok(kept > 0 && kept < keys.length, String(kept))
  })

  it('names the damaged file as Redis 6 and Redis 7 log it', () => {
    const file = 'appendonly.aof.1.incr.aof'
    const folder = join(temporaryDirectory(), 'redis7')
    mkdirSync(join(folder, 'appendonlydir'), { recursive: true })
    const server = { program: '/usr/bin/redis-server', env: {} }
    const nameIn = (log: string, data: string) =>
      /is damaged, in (.*)\.$/m.exec(explainDamage(log, { dataDir: data, ...server }) ?? '')?.[1]
    for (const log of [
      `Bad file format reading the append only file ${file}: make a backup of your AOF file, then use …`,
      `Unexpected end of file reading the append only file ${file}. You can: 1) Make a backup of your AOF file, …`,
    ]) {
      assert.equal(nameIn(log, folder), join(folder, 'appendonlydir', file))
      assert.equal(nameIn(log.replace(` ${file}`, ''), '/redis6'), '/redis6/appendonly.aof')
    }
  })
})
