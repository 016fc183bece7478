import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import * as fc from 'fast-check'
import { startRedis } from '../../cli/start/embedded/redis-server.ts'
import { findLastingPort } from '../support/lasting-port.ts'
import { assertCopiesEqualTables, followFeed, type Follower, receiveWebhook } from '../support/feed-followers.ts'
import { isReady } from '../support/fault-stack.ts'
import { keep, keepServer, type Kept, randomStrikes, runProgram, strike } from '../support/kept-process.ts'
import { ownWorkspace } from '../support/own-workspace.ts'
import { type PostgresPair, startPostgresPair } from '../support/postgres-pair.ts'
import { seeded } from '../support/property-seed.ts'
import { startService } from '../support/service.ts'
import { type HistoryService, settledLedger, submitHistory } from '../support/submitted-history.ts'
import { until } from '../support/until.ts'
import { startParts } from '../support/temporary-directory.ts'

const LONG = process.env['TEST_SIZE'] === 'long'
const FAULTS_FOR_MS = LONG ? 1_800_000 : 5_000
const FEWEST_FAULTS = 6
/** More random strikes than fit into the time. */
const MORE_THAN_STRUCK = 10_000
const WORKERS = LONG ? 4 : 2
const SUBMISSIONS = 60
/** The least number of submissions that the promoted standby lacks. */
const FEWEST_MISSED = 20

const environment = { CONVERSATIONS_PER_MINUTE: '1000000', WEBHOOK_ALLOWED_HOSTS: '127.0.0.1', REDO_SECONDS: '300' }

/**
 * Two APIs, and workers. The second API reads from a hot standby. Each process but the standby
 * starts again when it ends.
 */
const startRig = () => {
  return startParts('feed', async (running, directory) => {
    const pair = await startPostgresPair({ isSynchronous: false })
    running.defer(pair.stop)
    let first: PostgresPair['primary'] | undefined = pair.primary
    const postgres = await keep(async () => {
      const server = first ?? (await pair.bringBack())
      first = undefined
      return server
    })
    running.defer(postgres.stop)
    const redis = await keepServer((port) => startRedis({ dataDir: join(directory, 'redis'), ...port }))
    running.defer(redis.stop)
    const service = await startService({
      databaseUrl: pair.url,
      redisUrl: redis.url,
      apis: 0,
      workers: 0,
      environment,
    })
    running.defer(service.stop)
    const ports = [String(await findLastingPort()), String(await findLastingPort())]
    const start = async (program: string, more: Record<string, string> = {}): Promise<Kept> => {
      const kept = await keep(() => runProgram(program, { ...service.environment, ...more }, () => {}))
      running.defer(kept.stop)
      return kept
    }
    const workers = await Promise.all(Array.from({ length: WORKERS }, () => start('worker/main.ts')))
    const apis = [
      await start('api/main.ts', { PORT: ports[0]! }),
      await start('api/main.ts', { PORT: ports[1]!, READS_DATABASE_URL: pair.standbyUrl }),
    ]
    const urls = ports.map((port) => `http://127.0.0.1:${port}`)
    const untilReady = async () => {
      for (const url of urls) await until('the API is ready', () => isReady(url))
    }
    await untilReady()
    return {
      ...service,
      urls,
      pair,
      struck: { postgres, redis, workers, apis },
      untilReady,
    }
  })
}
type Rig = Awaited<ReturnType<typeof startRig>>

const startFollowers = async (rig: Rig, own: HistoryService): Promise<Follower[]> => {
  const [api, apiAtStandby] = [rig.urls[0]!, rig.urls[1]!]
  return [
    followFeed('a reader of the standby', own, { urls: [apiAtStandby], restarts: false }),
    followFeed('a reader that restarts', own, { urls: [api, apiAtStandby], restarts: true }),
    await receiveWebhook('a webhook', rig.sql, own),
  ]
}

/** Promotes the standby while it lacks feedback of the reader's copy. Returns the number it lacks. */
const failOver = async (
  { pair, struck, redisPrefix, sql: ofTest }: Rig,
  own: HistoryService,
  reader: Follower,
): Promise<number> => {
  const { atFormer, atStandby } = pair
  const storedAt = async (sql: PostgresPair['atStandby']): Promise<number> => {
    // The standby may lack the table at first, and a server may be away.
    const rows = await sql`
      select from ${sql(redisPrefix)}.submission where workspace_id = ${own.workspaceId}`.catch(() => [])
    return rows.length
  }
  const untilMoreStored = (sql: PostgresPair['atStandby'], than: number) =>
    until('more submissions are stored', async () => (await storedAt(sql)) > than)
  await untilMoreStored(atStandby, 10)
  await pair.cutOffStandby()
  await untilMoreStored(atFormer, (await storedAt(atFormer)) + FEWEST_MISSED)
  const lost = async (): Promise<string[]> => {
    const rows = await atStandby<{ name: string }[]>`
      select 'feedback ' || id as name from ${atStandby(redisPrefix)}.feedback where workspace_id = ${own.workspaceId}`
    const known = new Set(rows.map(({ name }) => name))
    return [...reader.copy().keys()].filter((name) => name.startsWith('feedback ') && !known.has(name))
  }
  await until('a reader knows feedback that the standby lacks', async () => (await lost()).length > 0)
  await struck.postgres.hold('SIGKILL')
  const earlier = await storedAt(atStandby)
  const { length } = await lost()
  await pair.promote()
  // Only the new primary can answer. `ofTest` may find it later than the workers do.
  await untilMoreStored(ofTest, earlier)
  struck.postgres.letGo()
  return length
}

/** Strikes processes at random for a time. Returns the number of strikes. */
const strikeAtRandom = async ({ struck }: Rig): Promise<number> => {
  const { seed = randomInt(2 ** 31) } = seeded()
  console.log(`FC_SEED=${seed}`)
  const end = performance.now() + FAULTS_FOR_MS
  let strikes = 0
  const servers = [struck.redis, struck.postgres]
  const drawn = randomStrikes([...servers, ...servers, ...struck.apis, ...struck.workers])
  for (const { target, signal, stopMs, thenMs } of fc.sample(drawn, { numRuns: MORE_THAN_STRUCK, seed })) {
    if (strikes >= FEWEST_FAULTS && performance.now() > end) break
    await strike(target, signal, stopMs)
    strikes++
    await pause(thenMs)
  }
  return strikes
}

describe('consumers of the change feed', () => {
  let rig: Rig
  before(async () => {
    rig = await startRig()
  })
  after(() => rig?.stop())

  it('equal the tables after random faults, with merges, purges and tags', async () => {
    const own = await ownWorkspace(rig)
    const followers = await startFollowers(rig, own)
    const during = strikeAtRandom(rig).then(async (strikes) => {
      await rig.untilReady()
      return strikes
    })
    await submitHistory(own, SUBMISSIONS, { during })
    await settledLedger(own)
    await rig.pair.untilStandbyFollows()
    followers.push(followFeed('a late reader', own, { urls: rig.urls, restarts: false }))
    const note = await assertCopiesEqualTables(followers, {
      sql: rig.sql,
      workspaceId: own.workspaceId,
    })
    console.log(`${await during} faults; ${note}`)
  })

  it('equal the tables after a failover to a standby that lacked some of their changes', async () => {
    // Readers could keep tags and categories of the former primary that the standby lacks.
    await rig.queues.tagging.pause()
    const own = await ownWorkspace(rig)
    const reader = followFeed('a reader of the primary', own, { urls: [rig.urls[0]!], restarts: false })
    const followers = [reader, ...(await startFollowers(rig, own))]
    const during = failOver(rig, own, reader)
    // After a purge, the log lacks earlier submissions, as docs/growing.md says.
    await submitHistory(own, SUBMISSIONS, { during, purges: false })
    await settledLedger(own)
    const note = await assertCopiesEqualTables(followers, {
      sql: rig.sql,
      workspaceId: own.workspaceId,
    })
    assert.ok((await during) > 0)
    console.log(`${await during} feedback read before the failover and stored again; ${note}`)
  })
})
