import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { MAX_BATCH_ITEMS } from '../../contract/limits.ts'
import { migrate } from '../../db/schema/migrate.ts'
import { connectPostgres, type Sql } from '../../db/connection/postgres.ts'
import { closeQueues, type JobQueues, openQueues } from '../../queue/jobs/job-queues.ts'
import { connectToWork, type RedisClient } from '../../queue/redis/connect-redis.ts'
import { scanKeys } from '../../queue/redis/redis-servers.ts'
import { type NetworkHost, programOn } from './network.ts'
import { testMigrations, testShards } from './schema.ts'
import { testServers } from './servers.ts'
import { type ServiceProcess, startProcess } from './service-process.ts'
import { until } from './until.ts'

/** `body`: the parsed answer, if it is JSON. A test that assumes another form fails. */
export type Answer = { status: number; headers: Headers; text: string; body: ReturnType<typeof JSON.parse> }

/** The id of an accepted submission. */
export const submissionIdOf = ({ headers }: Pick<Answer, 'headers'>): string => headers.get('Submission-Id')!

export type RequestOptions = {
  method?: string
  /** The token; null sends none. By default the access token. */
  token?: string | null
  headers?: Readonly<Record<string, string>>
  /** The index of the API process that gets the request; by default 0. */
  api?: number
}

export type Service = {
  readonly urls: readonly string[]
  readonly workerUrls: readonly string[]
  readonly apiPids: readonly number[]
  readonly workerPids: readonly number[]
  readonly accessToken: string
  readonly adminToken: string
  /** The workspace of the two tokens. */
  readonly workspaceId: string
  readonly sql: Sql
  readonly redis: RedisClient
  readonly redisPrefix: string
  /** The queues of the service, opened at their first use. */
  readonly queues: JobQueues
  /** The environment of the processes. Operators' commands need it, too. */
  readonly environment: Readonly<Record<string, string>>
  /** Sends any body to any path. A string or bytes are sent unchanged, other values as JSON. */
  readonly request: (path: string, body: unknown, options?: RequestOptions) => Promise<Answer>
  /** Like `request`, by POST below the base path. */
  readonly post: (path: string, body: unknown, options?: RequestOptions) => Promise<Answer>
  /** Like `request`, by GET. */
  readonly get: (path: string, options?: RequestOptions) => Promise<Answer>
  /** Like `post`, and waits until the submission is settled. Fails if it is not accepted. */
  readonly submit: (path: string, body: unknown, options?: RequestOptions) => Promise<Answer>
  /** Posts the items in batches. Fails if an item is not applied. */
  readonly submitAll: (items: readonly object[]) => Promise<void>
  /** Waits until an accepted submission is settled. Returns its state. */
  readonly settled: (answer: Answer) => Promise<string>
  readonly output: () => string
  readonly stop: () => Promise<void>
}

const BASE_PATH = '/api/v1'
const STATEMENT_TIMEOUT_MS = 30_000

/**
 * Starts real processes in a new schema and under a new Redis prefix. `stop` ends them and removes
 * both.
 */
export const startService = async ({
  apis = 1,
  workers = 1,
  databaseUrl = testServers().databaseUrl,
  redisUrl = testServers().redisUrl,
  environment: given = {},
  hosts = {},
}: {
  apis?: number
  workers?: number
  databaseUrl?: string
  redisUrl?: string
  environment?: Readonly<Record<string, string>>
  /** Where the processes run; by default on this machine. */
  hosts?: { readonly api?: NetworkHost; readonly worker?: NetworkHost }
} = {}): Promise<Service> => {
  const name = `t_${randomBytes(6).toString('hex')}`
  const accessToken = `access-${randomBytes(16).toString('hex')}`
  const adminToken = `admin-${randomBytes(16).toString('hex')}`
  const environment = {
    DATABASE_URL: databaseUrl,
    DATABASE_SCHEMA: name,
    DATABASE_CONNECTIONS: '4',
    REDIS_URL: redisUrl,
    REDIS_PREFIX: name,
    HASH_KEY: randomBytes(32).toString('hex'),
    BOOTSTRAP_ACCESS_TOKEN: accessToken,
    BOOTSTRAP_ADMIN_TOKEN: adminToken,
    PORT: '0',
    WORKER_PORT: '0',
    ...(hosts.api && { HOST: hosts.api.address }),
    ...(hosts.worker && { WORKER_HOST: hosts.worker.address }),
    ...given,
  }
  const sql = connectPostgres(databaseUrl, {
    connections: 2,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    applicationName: 'feedback-insights-test',
    schema: name,
  })
  const redis = connectToWork(redisUrl)
  redis.on('error', () => {})
  const processes: ServiceProcess[] = []
  let queues: JobQueues | undefined

  const stop = async (): Promise<void> => {
    if (queues) await closeQueues(queues)
    const ends = await Promise.allSettled(processes.map((process) => process.stop()))
    await sql`drop schema if exists ${sql(name)} cascade`
    await sql.end({ timeout: 5 })
    await removeKeys(redis, name)
    await redis.quit()
    for (const end of ends) if (end.status === 'rejected') throw end.reason
  }

  try {
    await sql`create schema ${sql(name)}`
    await migrate(sql, await testMigrations(), { shards: testShards() })
    const started = await Promise.allSettled([
      ...Array.from({ length: apis }, () =>
        startProcess(programOn('api/main.ts', hosts.api), 'listening', environment),
      ),
      ...Array.from({ length: workers }, () =>
        startProcess(programOn('worker/main.ts', hosts.worker), 'working', environment),
      ),
    ])
    for (const start of started) if (start.status === 'fulfilled') processes.push(start.value)
    for (const start of started) if (start.status === 'rejected') throw start.reason
    const urls = processes.map(
      ({ port }, index) => `http://${(index < apis ? hosts.api : hosts.worker)?.address ?? '127.0.0.1'}:${port}`,
    )
    const [workspace] = await sql<{ id: string }[]>`select id from workspace`
    const apiUrls = urls.slice(0, apis)
    return {
      urls: apiUrls,
      workerUrls: urls.slice(apis),
      apiPids: processes.slice(0, apis).map(({ pid }) => pid),
      workerPids: processes.slice(apis).map(({ pid }) => pid),
      accessToken,
      adminToken,
      workspaceId: workspace!.id,
      sql,
      redis,
      redisPrefix: name,
      get queues() {
        return (queues ??= openQueues(redis, name))
      },
      environment,
      ...requestsTo(apiUrls, accessToken, sql),
      output: () => processes.map((process) => process.output()).join(''),
      stop,
    }
  } catch (error) {
    await stop().catch(() => {})
    throw error
  }
}

/** Requests to the API processes at these addresses. */
export const requestsTo = (
  urls: readonly string[],
  accessToken: string,
  sql: Sql,
): Pick<Service, 'request' | 'post' | 'get' | 'submit' | 'submitAll' | 'settled'> => {
  const request: Service['request'] = async (path, body, options = {}) => {
    const { method = 'POST', token = accessToken, api = 0 } = options
    const headers = new Headers({ 'Content-Type': 'application/json' })
    if (token !== null) headers.set('Authorization', `Bearer ${token}`)
    for (const [header, value] of Object.entries(options.headers ?? {})) headers.set(header, value)
    const response = await fetch(`${urls[api]}${path}`, {
      method,
      headers,
      redirect: 'manual',
      ...(body !== undefined && { body: encoded(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
  }
  const post: Service['post'] = (path, body, options) => request(`${BASE_PATH}${path}`, body, options)
  const get: Service['get'] = (path, options) => request(path, undefined, { method: 'GET', ...options })
  const settled: Service['settled'] = async (answer) => {
    const id = submissionIdOf(answer)
    return until(`submission ${id} is settled`, async () => {
      const [row] = await sql<{ state: string }[]>`select state from submission where id = ${id} and state <> 'queued'`
      return row?.state
    })
  }
  const submit: Service['submit'] = async (path, body, options) => {
    const answer = await post(path, body, options)
    assert.ok(answer.status === 200 || answer.status === 201, `${path} answered ${answer.status}: ${answer.text}`)
    await settled(answer)
    return answer
  }
  const submitAll: Service['submitAll'] = async (items) => {
    for (let at = 0; at < items.length; at += MAX_BATCH_ITEMS) {
      const batch = { items: items.slice(at, at + MAX_BATCH_ITEMS) }
      const { status, text, body } = await post('/batch', batch, { headers: { Prefer: 'wait=30' } })
      assert.equal(status, 200, text)
      for (const { state } of body.results) assert.equal(state, 'applied', text)
    }
  }
  return { request, post, get, submit, submitAll, settled }
}

const encoded = (body: unknown): string | Uint8Array<ArrayBuffer> => {
  if (typeof body === 'string') return body
  return body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body)
}

/** Removes all keys with a prefix, ours and BullMQ's: each has the prefix in a hash tag. */
export const removeKeys = async (redis: RedisClient, prefix: string): Promise<void> => {
  for await (const keys of scanKeys(redis, { match: `{${prefix}:*`, count: 1_000 })) {
    // A command for each key, since the keys can be in several slots.
    await Promise.all(keys.map((key) => redis.unlink(key)))
  }
}
