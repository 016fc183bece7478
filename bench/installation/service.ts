import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { type HashKey, hashKeyFrom } from '../../contract/identity/keys.ts'
import type { ServerUrls } from '../../cli/start/start-servers.ts'
import type { migrate, readMigrations } from '../../db/schema/migrate.ts'
import { connectPostgres, type Sql } from '../../db/connection/postgres.ts'
import { OWN_CHECKOUT, type Program, type Runtime, startProgram } from './program.ts'

/**
 * An API process, a worker, and on demand an API process for reads, with their own schema and Redis
 * prefix.
 */
export type Service = {
  readonly url: string
  /** The API for reads; the same as `url` unless it has a process of its own. */
  readonly readsUrl: string
  /** The token of an operator, who is also admin of the default workspace. */
  readonly token: string
  readonly workspaceId: string
  readonly hashKey: HashKey
  readonly prefix: string
  readonly sql: Sql
  readonly redis: Redis
  /** Call this only while a worker runs. */
  readonly pids: () => { readonly api: number; readonly worker: number }
  /** Ends the worker process, which finishes its current work. */
  readonly stopWorker: () => Promise<void>
  /** Starts a worker process, if there is none. */
  readonly startWorker: () => Promise<void>
  readonly stop: () => Promise<void>
}

export type ServiceNeeds = {
  readonly runtime?: Runtime
  readonly replicasAck?: number
  /** Reads go to an API process of their own. */
  readonly hasReadsApi?: boolean
  /** The folder of another version to run; by default that of this version. */
  readonly checkout?: string
}

const STATEMENT_TIMEOUT_MS = 10 * 60_000
const MOST_WAITING = 10_000_000

export const startService = async (
  { databaseUrl, redisUrl }: ServerUrls,
  {
    name,
    runtime = 'bun',
    replicasAck = 0,
    hasReadsApi = false,
    checkout = OWN_CHECKOUT,
  }: ServiceNeeds & { name: string },
): Promise<Service> => {
  const prefix = `bench_${name}`
  const hashKey = randomBytes(32).toString('hex')
  const token = `bench-${randomBytes(16).toString('hex')}`
  const sql = await migratedSchema(databaseUrl, prefix, checkout)
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: null })
  const environment = {
    DATABASE_URL: databaseUrl,
    DATABASE_SCHEMA: prefix,
    REDIS_URL: redisUrl,
    REDIS_PREFIX: prefix,
    ...(replicasAck > 0 && { REDIS_REPLICAS_ACK: String(replicasAck) }),
    HASH_KEY: hashKey,
    // BENCH_BACKLOG may exceed the default bound.
    MAX_BACKLOG: String(MOST_WAITING),
    // The sections `parts` and `reads` send more than the default limits allow.
    CONVERSATIONS_PER_MINUTE: '1000000',
    AGENT_CALLS_PER_MINUTE: '1000000',
    BOOTSTRAP_ADMIN_TOKEN: token,
    PORT: '0',
    WORKER_PORT: '0',
  }
  const start = (process: 'api' | 'worker'): Promise<Program> =>
    startProgram({ file: `${process}/main.ts`, environment, runtime, checkout })
  let worker: Program | undefined = await start('worker')
  const api = await start('api')
  const readsApi = hasReadsApi ? await start('api') : api
  const [workspace] = await sql<{ id: string }[]>`select id from workspace`
  const stopWorker = async (): Promise<void> => {
    await worker?.stop()
    worker = undefined
  }
  return {
    url: `http://127.0.0.1:${api.port}/api/v1`,
    readsUrl: `http://127.0.0.1:${readsApi.port}/api/v1`,
    token,
    workspaceId: workspace!.id,
    hashKey: hashKeyFrom(hashKey),
    prefix,
    sql,
    redis,
    pids: () => ({ api: api.pid, worker: worker!.pid }),
    stopWorker,
    startWorker: async () => void (worker ??= await start('worker')),
    stop: async () => {
      await Promise.all([api.stop(), readsApi.stop(), stopWorker()])
      redis.disconnect()
      await sql.end({ timeout: 5 })
    },
  }
}

const migratedSchema = async (databaseUrl: string, schema: string, checkout: string): Promise<Sql> => {
  const sql = connectPostgres(databaseUrl, {
    connections: 2,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    applicationName: 'feedback-insights-bench',
    schema,
  })
  await sql`create schema ${sql(schema)}`
  const path = join(checkout, 'db/schema/migrate.ts')
  const schemas = (await import(path)) as { migrate: typeof migrate; readMigrations: typeof readMigrations }
  await schemas.migrate(sql, await schemas.readMigrations())
  return sql
}
