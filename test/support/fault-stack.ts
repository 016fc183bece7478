import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { findFreePort } from '../../cli/start/embedded/free-port.ts'
import { startPostgres } from '../../cli/start/embedded/postgres-server.ts'
import { type AppendFsync, startRedis } from '../../cli/start/embedded/redis-server.ts'
import { closeQueues, type JobQueues, openQueues } from '../../queue/job-queues.ts'
import { migrate } from '../../db/migrate.ts'
import { connectPostgres, type Sql } from '../../db/postgres.ts'
import type { RedisClient } from '../../queue/connect-redis.ts'
import { type FaultSignal, freeze, keep, keepServer, type Kept, runProgram, strike } from './kept-process.ts'
import { testMigrations } from './partitioned-migrations.ts'
import { until } from './until.ts'

export const TARGETS = ['api', 'worker', 'redis', 'postgres'] as const
export type Target = (typeof TARGETS)[number]
export type FaultStack = {
  url: string
  urls: readonly string[]
  accessToken: string
  adminToken: string
  prefix: string
  /** The same, by its name in a `Service`. */
  redisPrefix: string
  environment: Readonly<Record<string, string>>
  /** Of the test itself; they come back after a fault. */
  sql: Sql
  redis: RedisClient
  queues: JobQueues
  kept: Readonly<Record<Target, Kept>>
  /** Ends a process, or stops it for a while; when it has ended or goes on, the moment of the signal that did it. */
  strike: (target: Target, signal: FaultSignal, stopMs: number) => Promise<number>
  /** Stops a process with its children where it is; the result lets it go on, or ends it. */
  freeze: (target: Target) => ReturnType<typeof freeze>
  /** Resolves when all its processes answer. */
  isReady: () => Promise<unknown>
  output: () => string
  stop: () => Promise<void>
}

const STATEMENT_TIMEOUT_MS = 20_000
const READY_WITHIN_MS = 60_000

type Options = {
  redisMemoryBytes?: number
  appendFsync?: AppendFsync
  /** Further lines of the configuration of Redis. */
  redisSettings?: readonly string[]
  environment?: Readonly<Record<string, string>>
  /** Whether texts get tags. */
  isTagging?: boolean
  /** In which the servers keep their data in directories of their own. */
  parent?: string
}

/** A service with servers of its own, all of which can be struck: one API, one worker, Redis, Postgres. */
export const startFaultStack = async (options: Options = {}): Promise<FaultStack> => {
  const directory = mkdtempSync(join(options.parent ?? tmpdir(), 'feedback-insights-faults-'))
  const prefix = 'fbi'
  const running = new AsyncDisposableStack()
  running.defer(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }))
  try {
    const postgres = await keepServer((port) => startPostgres({ dataDir: join(directory, 'postgres'), ...port }))
    running.defer(() => postgres.stop())
    const { redisMemoryBytes: maxMemoryBytes, appendFsync, redisSettings: settings = [] } = options
    const ofRedis = { settings, ...(maxMemoryBytes && { maxMemoryBytes }), ...(appendFsync && { appendFsync }) }
    const redisServer = await keepServer((port) =>
      startRedis({ dataDir: join(directory, 'redis'), ...ofRedis, ...port }),
    )
    running.defer(() => redisServer.stop())
    const sql = connectPostgres(postgres.url, {
      connections: 2,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      applicationName: 'feedback-insights-test',
    })
    running.defer(() => sql.end({ timeout: 5 }))
    await migrate(sql, await testMigrations())
    const redis = new Redis(redisServer.url, { maxRetriesPerRequest: null })
    redis.on('error', () => {})
    running.defer(() => redis.disconnect())
    const queues = openQueues(redis, prefix, () => {})
    running.defer(() => closeQueues(queues))
    // Generated tags depend on the order of texts. Where rows are compared, nothing may.
    if (options.isTagging !== true) await queues.tagging.pause()

    const accessToken = `access-${randomBytes(16).toString('hex')}`
    const adminToken = `admin-${randomBytes(16).toString('hex')}`
    const apiPort = await findFreePort()
    const environment = {
      DATABASE_URL: postgres.url,
      REDIS_URL: redisServer.url,
      REDIS_PREFIX: prefix,
      HASH_KEY: randomBytes(32).toString('hex'),
      BOOTSTRAP_ACCESS_TOKEN: accessToken,
      BOOTSTRAP_ADMIN_TOKEN: adminToken,
      CONVERSATIONS_PER_MINUTE: '1000000',
      PORT: String(apiPort),
      WORKER_PORT: '0',
      ...options.environment,
    }
    let output = ''
    const keepProgram = (program: string) => keep(() => runProgram(program, environment, (text) => (output += text)))
    const worker = await keepProgram('worker/main.ts')
    running.defer(() => worker.stop())
    const api = await keepProgram('api/main.ts')
    running.defer(() => api.stop())
    const kept = { api, worker, redis: redisServer, postgres }
    const url = `http://127.0.0.1:${apiPort}`
    await until('the service is ready', () => isReady(url), READY_WITHIN_MS)
    return {
      url,
      urls: [url],
      accessToken,
      adminToken,
      prefix,
      redisPrefix: prefix,
      environment,
      sql,
      redis,
      queues,
      kept,
      strike: (target, signal, stopMs) => strike(kept[target], signal, stopMs),
      freeze: (target) => freeze(kept[target]),
      isReady: () => until('the service is ready', () => isReady(url), READY_WITHIN_MS),
      output: () => output,
      stop: () => running.disposeAsync(),
    }
  } catch (error) {
    await running.disposeAsync()
    throw error
  }
}

const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) }).then(
    async (answer) => (await answer.arrayBuffer(), answer.status === 200),
    () => false,
  )
