import { join } from 'node:path'
import { startPostgres } from '../../cli/start/embedded/postgres-server.ts'
import { type AppendFsync, startRedis } from '../../cli/start/embedded/redis-server.ts'
import { findLastingPort } from './lasting-port.ts'
import { keep, keepServer, type Kept, runProgram } from './kept-process.ts'
import { requestsTo, type Service } from './service.ts'
import { startHistoryService } from './submitted-history.ts'
import { until } from './until.ts'
import { startParts } from './temporary-directory.ts'

export const TARGETS = ['api', 'worker', 'redis', 'postgres'] as const
export type Target = (typeof TARGETS)[number]
export type FaultStack = Service & {
  /** The processes of the service. */
  readonly kept: Readonly<Record<Target, Kept>>
  /** Resolves when the API is ready. */
  readonly untilReady: () => Promise<unknown>
}

type Options = {
  redisMemoryBytes?: number
  appendFsync?: AppendFsync
  /** The directory for the data directories of the servers. */
  parent?: string
  /** Returns the address at which the API reaches Redis, such as that of a proxy. */
  redisOfApi?: (url: string) => Promise<string>
}

/** A service of four processes that a test can strike: one API, one worker, Redis, Postgres. */
export const startFaultStack = (options: Options = {}): Promise<FaultStack> =>
  startParts(
    'faults',
    async (running, directory) => {
      const postgres = await keepServer((port) => startPostgres({ dataDir: join(directory, 'postgres'), ...port }))
      running.defer(postgres.stop)
      const { redisMemoryBytes: maxMemoryBytes, appendFsync } = options
      const ofRedis = { ...(maxMemoryBytes && { maxMemoryBytes }), ...(appendFsync && { appendFsync }) }
      const redis = await keepServer((port) => startRedis({ dataDir: join(directory, 'redis'), ...ofRedis, ...port }))
      running.defer(redis.stop)
      const service = await startHistoryService({
        databaseUrl: postgres.url,
        redisUrl: redis.url,
        apis: 0,
        workers: 0,
        environment: { PORT: String(await findLastingPort()) },
      })
      running.defer(service.stop)
      let output = ''
      const keepProgram = (program: string, more: Record<string, string> = {}) =>
        keep(() => runProgram(program, { ...service.environment, ...more }, (text) => (output += text)))
      const worker = await keepProgram('worker/main.ts')
      running.defer(worker.stop)
      const redisOfApi = await options.redisOfApi?.(redis.url)
      const api = await keepProgram('api/main.ts', { ...(redisOfApi && { REDIS_URL: redisOfApi }) })
      running.defer(api.stop)
      const kept = { api, worker, redis, postgres }
      // `service.stop` needs the servers, also if a test has held them down.
      running.defer(() => Object.values(kept).forEach(({ letGo }) => letGo()))
      const url = `http://127.0.0.1:${service.environment['PORT']}`
      const untilReady = () => until('the service is ready', () => isReady(url))
      await untilReady()
      return {
        ...service,
        ...requestsTo([url], service.accessToken, service.sql),
        urls: [url],
        kept,
        untilReady,
        output: () => output,
      }
    },
    options.parent,
  )

export const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) })
    .then(async (answer) => (await answer.arrayBuffer(), answer.status === 200))
    .catch(() => false)
