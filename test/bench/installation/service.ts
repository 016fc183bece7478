import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import { migrate, readMigrations } from '../../../db/migrate.ts'
import { connectPostgres, type Sql } from '../../../db/postgres.ts'
import { type Program, type Runtime, startProgram } from './program.ts'

/**
 * One API process and one worker of ours, with a schema and a Redis prefix of their own. What measures through this alone,
 * by HTTP, Postgres, the figures of Redis and the processes, measures any other version of this service as well.
 */
export type Service = {
  readonly url: string
  /** May submit to the default workspace, purge in it, and operate. */
  readonly token: string
  readonly workspaceId: string
  /** What the service hashes keys with, as its environment has it. */
  readonly hash: string
  readonly prefix: string
  readonly sql: Sql
  readonly redis: Redis
  readonly pids: () => { readonly api: number; readonly worker: number }
  /** Ends the worker process, which finishes what it has in hand. */
  readonly stopWorker: () => Promise<void>
  /** Starts another one, if there is none. */
  readonly startWorker: () => Promise<void>
  readonly stop: () => Promise<void>
}

export type ServerUrls = { readonly databaseUrl: string; readonly redisUrl: string }

/** The files to which its processes write, at their end, what was sampled of them. */
export type Profiles = { readonly api: string; readonly worker: string }

type ServiceOptions = { name: string; runtime?: Runtime; profiles?: Profiles; replicasAck?: number }

const STATEMENT_TIMEOUT_MS = 10 * 60_000
const MOST_WAITING = 10_000_000

export const startService = async (
  { databaseUrl, redisUrl }: ServerUrls,
  { name, runtime = 'bun', profiles, replicasAck = 0 }: ServiceOptions,
): Promise<Service> => {
  const prefix = `bench_${name}`
  const token = `bench-${randomBytes(16).toString('hex')}`
  const hash = randomBytes(32).toString('hex')
  const sql = await migratedSchema(databaseUrl, prefix)
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: null })
  const environment = {
    DATABASE_URL: databaseUrl,
    DATABASE_SCHEMA: prefix,
    REDIS_URL: redisUrl,
    REDIS_PREFIX: prefix,
    ...(replicasAck > 0 && { REDIS_REPLICAS_ACK: String(replicasAck) }),
    HASH_KEY: hash,
    // `alike` has more waiting than is taken in by default.
    MAX_BACKLOG: String(MOST_WAITING),
    // `conversation-parts` sends more than ten.
    CONVERSATIONS_PER_MINUTE: '1000000',
    BOOTSTRAP_ADMIN_TOKEN: token,
    PORT: '0',
    WORKER_PORT: '0',
  }
  const start = (process: keyof Profiles): Promise<Program> =>
    startProgram({ file: `${process}/main.ts`, environment, runtime, ...(profiles && { profile: profiles[process] }) })
  let worker: Program | undefined = await start('worker')
  const api = await start('api')
  const [workspace] = await sql<{ id: string }[]>`select id from workspace`
  const stopWorker = async (): Promise<void> => {
    await worker?.stop()
    worker = undefined
  }
  return {
    url: `http://127.0.0.1:${api.port}/api/v1`,
    token,
    workspaceId: workspace!.id,
    hash,
    prefix,
    sql,
    redis,
    pids: () => ({ api: api.pid, worker: worker?.pid ?? 0 }),
    stopWorker,
    startWorker: async () => void (worker ??= await start('worker')),
    stop: async () => {
      await Promise.all([api.stop(), stopWorker()])
      redis.disconnect()
      await sql.end({ timeout: 5 })
    },
  }
}

const migratedSchema = async (databaseUrl: string, schema: string): Promise<Sql> => {
  const sql = connectPostgres(databaseUrl, {
    connections: 2,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    applicationName: 'feedback-insights-bench',
    schema,
  })
  await sql`create schema ${sql(schema)}`
  await migrate(sql, await readMigrations())
  return sql
}
