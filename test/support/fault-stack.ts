import { once } from 'node:events'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { findFreePort } from '../../cli/start/embedded/free-port.ts'
import { startPostgres } from '../../cli/start/embedded/postgres-server.ts'
import { type AppendFsync, startRedis } from '../../cli/start/embedded/redis-server.ts'
import { closeQueues, type JobQueues, openQueues } from '../../queue/job-queues.ts'
import { migrate } from '../../db/migrate.ts'
import { connectPostgres, type Sql } from '../../db/postgres.ts'
import type { RedisClient } from '../../queue/connect-redis.ts'
import { testMigrations } from './partitioned-migrations.ts'
import { spawnProgram } from './service-process.ts'
import { until } from './until.ts'

export const TARGETS = ['api', 'worker', 'redis', 'postgres'] as const
export type Target = (typeof TARGETS)[number]
export const SIGNALS = ['SIGTERM', 'SIGKILL', 'SIGSTOP'] as const
export type FaultSignal = (typeof SIGNALS)[number]

/** Something that runs and is started again as soon as it ends, as an init system does it, unless it is held down. */
type Kept = {
  pid: () => number | undefined
  exited: () => Promise<unknown>
  /** Ends it and does not start it again until it is let go. */
  hold: () => Promise<void>
  letGo: () => void
  stop: () => Promise<void>
}
type Running = { pid: number; exited: Promise<unknown>; stop: () => Promise<void> }

export type FaultStack = {
  url: string
  accessToken: string
  adminToken: string
  prefix: string
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
  output: () => string
  stop: () => Promise<void>
}

const STATEMENT_TIMEOUT_MS = 20_000
/** A server that waits for its clients to leave is told to throw them out, as init systems do. */
const TERM_PATIENCE_MS = 3_000
const START_AGAIN_AFTER_MS = 50
const READY_WITHIN_MS = 60_000

type Options = {
  redisMemoryBytes?: number
  appendFsync?: AppendFsync
  /** Further lines of the configuration of Redis. */
  redisSettings?: readonly string[]
  environment?: Readonly<Record<string, string>>
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
      accessToken,
      adminToken,
      prefix,
      environment,
      sql,
      redis,
      queues,
      kept,
      strike: (target, signal, stopMs) => strike(kept[target], signal, stopMs),
      freeze: (target) => freeze(kept[target]),
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

const keepServer = async (
  start: (port: { port?: number }) => ReturnType<typeof startRedis>,
): Promise<Kept & { url: string }> => {
  const first = await start({})
  const { url, port } = first
  let given: typeof first | undefined = first
  const kept = await keep(async () => {
    const server = given ?? (await start({ port }))
    given = undefined
    return server
  })
  return { ...kept, url }
}

const keep = async (start: () => Promise<Running>): Promise<Kept> => {
  const stopped = new AbortController()
  let isHeld = false
  let current: Running | undefined = await start()
  const watch = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      if (current !== undefined) {
        await current.exited
        current = undefined
      }
      await pause(START_AGAIN_AFTER_MS)
      if (isHeld || stopped.signal.aborted) continue
      current = await start().catch(() => undefined)
    }
  }
  const watching = watch()
  const end = async (): Promise<void> => {
    await until('it is there or held down', () =>
      Promise.resolve(current !== undefined || isHeld || stopped.signal.aborted),
    )
    await current?.stop()
  }
  return {
    pid: () => current?.pid,
    exited: async () => current?.exited,
    hold: async () => {
      isHeld = true
      await end()
    },
    letGo: () => {
      isHeld = false
    },
    stop: async () => {
      stopped.abort()
      await end()
      await watching
      await current?.stop()
    },
  }
}

const runProgram = async (
  program: string,
  environment: Record<string, string>,
  onOutput: (text: string) => void,
): Promise<Running> => {
  const child = spawnProgram(program, [], environment)
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', onOutput)
  const exited = once(child, 'exit')
  return {
    pid: child.pid!,
    exited,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      process.kill(child.pid!, 'SIGTERM')
      await Promise.race([exited, pause(20_000).then(() => child.kill('SIGKILL'))])
      await exited
    },
  }
}

const send = (pid: number | undefined, signal: NodeJS.Signals): void => {
  try {
    if (pid !== undefined) process.kill(pid, signal)
  } catch {
    // It is gone.
  }
}

const strike = async (kept: Kept, signal: FaultSignal, stopMs: number): Promise<number> => {
  if (signal === 'SIGSTOP') {
    const goOn = freeze(kept)
    await pause(stopMs)
    goOn()
    return performance.now()
  }
  const exited = kept.exited()
  const at = performance.now()
  send(kept.pid(), signal)
  const hasExited = await Promise.race([exited.then(() => true), pause(TERM_PATIENCE_MS, false)])
  if (!hasExited) send(kept.pid(), 'SIGINT')
  await exited
  return at
}

/** Stops a process with its children where it is; the result lets it go on, or ends it. */
export const freeze = (kept: Pick<Kept, 'pid'>): ((how?: 'SIGCONT' | 'SIGKILL') => void) => {
  const pid = kept.pid()
  if (pid === undefined) return () => {}
  // A server that is stopped alone lets the processes that serve its clients go on, as Postgres has them.
  const pids = [pid, ...childrenOf(pid)]
  for (const one of pids) send(one, 'SIGSTOP')
  return (how = 'SIGCONT') => {
    for (const one of pids) send(one, how)
  }
}

/** Linux only, as are the tests that strike. */
const childrenOf = (parent: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
        return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent
      } catch {
        return false
      }
    })
    .map(Number)
