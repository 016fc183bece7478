import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import postgres from 'postgres'
import type { ServerUrls } from '../../cli/start/start-servers.ts'
import { PLAIN_QUEUE } from './config.ts'
import { createAtOnceTables } from './at-once.ts'
import { createPlainTable } from './feedback-table.ts'
import { type Program, startProgram } from '../installation/program.ts'

/**
 * The plain alternatives to this service: three handlers, and a worker for the queue of `queueApi`.
 */
export type PlainVariants = {
  readonly token: string
  readonly insertApi: Program
  readonly atOnceApi: Program
  readonly queueApi: Program
  readonly insertWorker: Program
  /** The queue of the handler with `queue.add` and of the plain worker. */
  readonly queue: Queue
  /** Removes all stored and queued data. No worker may be busy. */
  readonly empty: () => Promise<void>
  readonly stop: () => Promise<void>
}

const NAME = 'bench_plain'
const AT_ONCE = 'bench_at_once'
const PREFIX = `{${NAME}}`

export const startPlainVariants = async ({ databaseUrl, redisUrl }: ServerUrls): Promise<PlainVariants> => {
  const sql = await openSchema(databaseUrl, NAME)
  await createPlainTable(sql)
  const atOnceSql = await openSchema(databaseUrl, AT_ONCE)
  await createAtOnceTables(atOnceSql)
  const token = randomBytes(16).toString('hex')
  const environment = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    REDIS_PREFIX: PREFIX,
    TOKEN: token,
  }
  const start = (name: string, schema = NAME) =>
    startProgram({ file: `bench/plain/${name}.ts`, environment: { ...environment, DATABASE_SCHEMA: schema } })
  const insertApi = await start('insert-api')
  const atOnceApi = await start('at-once-api', AT_ONCE)
  const queueApi = await start('queue-api')
  const insertWorker = await start('insert-worker')
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: null })
  const queue = new Queue(PLAIN_QUEUE, { connection: redis, prefix: PREFIX })
  return {
    token,
    insertApi,
    atOnceApi,
    queueApi,
    insertWorker,
    queue,
    empty: async () => {
      await sql`truncate feedback`
      await atOnceSql`truncate feedback, contact, account, project, receipt, idempotency_key`
      await queue.obliterate({ force: true })
    },
    stop: async () => {
      const programs = [insertApi, atOnceApi, queueApi, insertWorker]
      await Promise.all(programs.map((program) => program.stop()))
      await queue.close()
      redis.disconnect()
      await Promise.all([sql, atOnceSql].map((pool) => pool.end({ timeout: 5 })))
    },
  }
}

const LOOK_EVERY_MS = 10

/** Waits until the plain worker has stored all queued feedback. */
export const untilStored = async ({ queue }: PlainVariants): Promise<void> => {
  while ((await queue.getJobCountByTypes('waiting', 'active', 'delayed')) > 0) await pause(LOOK_EVERY_MS)
}

const openSchema = async (databaseUrl: string, schema: string): Promise<postgres.Sql> => {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {}, connection: { search_path: schema } })
  await sql`create schema ${sql(schema)}`
  return sql
}
