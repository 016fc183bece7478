import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import { type HashKey, hashKeyFrom } from '../../../contract/identity/own-id.ts'
import { closeQueues, type JobQueues, openQueues } from '../../../queue/job-queues.ts'
import { migrate, readMigrations } from '../../../db/migrate.ts'
import { connectPostgres, type Sql } from '../../../db/postgres.ts'
import { halt } from './drain.ts'
import { type Program, type Runtime, startProgram } from './program.ts'

/** One API process and one worker of ours, with a schema and a Redis prefix of their own. */
export type Installation = {
  readonly url: string
  readonly token: string
  readonly workspaceId: string
  readonly hashKey: HashKey
  readonly prefix: string
  readonly sql: Sql
  readonly redis: Redis
  readonly queues: JobQueues
  readonly api: Program
  readonly worker: Program
  /** Takes out everything that is queued; pauses stay as they are. Nothing may be at work. */
  readonly emptyQueues: () => Promise<void>
  /** The same with everything that is stored. */
  readonly empty: () => Promise<void>
  readonly stop: () => Promise<void>
}

export type ServerUrls = { readonly databaseUrl: string; readonly redisUrl: string }

const STATEMENT_TIMEOUT_MS = 10 * 60_000
/** Not emptied: whose they are and what they were made with. */
const KEPT_TABLES = ['workspace', 'token', 'installation', 'schema_migration', 'schema_functions']

export const startInstallation = async (
  { databaseUrl, redisUrl }: ServerUrls,
  { name, runtime }: { name: string; runtime: Runtime },
): Promise<Installation> => {
  const prefix = `bench_${name}`
  const token = `bench-${randomBytes(16).toString('hex')}`
  const hash = randomBytes(32).toString('hex')
  const sql = await migratedSchema(databaseUrl, prefix)
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: null })
  const queues = openQueues(redis, prefix, () => {})
  const environment = {
    DATABASE_URL: databaseUrl,
    DATABASE_SCHEMA: prefix,
    REDIS_URL: redisUrl,
    REDIS_PREFIX: prefix,
    HASH_KEY: hash,
    BOOTSTRAP_ADMIN_TOKEN: token,
    PORT: '0',
    WORKER_PORT: '0',
  }
  const worker = await startProgram({ file: 'worker/main.ts', environment, runtime })
  const api = await startProgram({ file: 'api/main.ts', environment, runtime })
  const [workspace] = await sql<{ id: string }[]>`select id from workspace`
  return {
    url: `http://127.0.0.1:${api.port}/api/v1`,
    token,
    workspaceId: workspace!.id,
    hashKey: hashKeyFrom(hash),
    prefix,
    sql,
    redis,
    queues,
    api,
    worker,
    emptyQueues: () => removeKeys(redis, prefix),
    empty: async () => {
      // What it has in hand would meet the truncation of its tables.
      await halt(queues.tagging)
      await truncateTables(sql, prefix)
      await removeKeys(redis, prefix)
      await queues.tagging.resume()
    },
    stop: async () => {
      await Promise.all([api.stop(), worker.stop()])
      await closeQueues(queues)
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

const truncateTables = async (sql: Sql, schema: string): Promise<void> => {
  const tables = await sql<{ tablename: string }[]>`
    select tablename from pg_tables where schemaname = ${schema} and tablename <> all (${KEPT_TABLES}::text[])`
  await sql.unsafe(`truncate ${tables.map(({ tablename }) => `"${tablename}"`).join(', ')}`)
}

/** All but what says of a queue whether it is paused. */
const removeKeys = async (redis: Redis, prefix: string): Promise<void> => {
  for await (const found of redis.scanStream({ match: `{${prefix}:*`, count: 1_000 })) {
    const keys = (found as string[]).filter((key) => !key.endsWith(':meta'))
    if (keys.length > 0) await redis.unlink(keys)
  }
}
