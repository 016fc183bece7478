import { randomBytes } from 'node:crypto'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import postgres from 'postgres'
import type { ServerUrls } from '../installation/service.ts'
import { IDLE_QUEUE, PLAIN_QUEUE } from './config.ts'
import { createPlainTable } from './feedback-table.ts'
import { type Program, startProgram } from '../installation/program.ts'

/** What one would build without this service: three ways to take feedback in, and the bare queue. */
export type PlainVariants = {
  readonly token: string
  readonly insertApi: Program
  readonly queueApi: Program
  readonly insertWorker: Program
  /** Of the handler with `queue.add` and of the plain worker. */
  readonly queue: Queue
  /** Of the worker that does nothing. */
  readonly idleQueue: Queue
  readonly redis: Redis
  readonly stored: () => Promise<number>
  /** Takes out everything that is stored and queued. Nothing may be at work. */
  readonly empty: () => Promise<void>
  readonly stop: () => Promise<void>
}

const NAME = 'bench_plain'
const PREFIX = `{${NAME}}`

export const startPlainVariants = async ({ databaseUrl, redisUrl }: ServerUrls): Promise<PlainVariants> => {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {}, connection: { search_path: NAME } })
  await sql`create schema ${sql(NAME)}`
  await createPlainTable(sql)
  const token = randomBytes(16).toString('hex')
  const environment = {
    DATABASE_URL: databaseUrl,
    DATABASE_SCHEMA: NAME,
    REDIS_URL: redisUrl,
    REDIS_PREFIX: PREFIX,
    TOKEN: token,
  }
  const start = (name: string) => startProgram({ file: `test/bench/plain/${name}.ts`, environment })
  const insertApi = await start('insert-api')
  const queueApi = await start('queue-api')
  const insertWorker = await start('insert-worker')
  const idleWorker = await start('idle-worker')
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: null })
  const queue = new Queue(PLAIN_QUEUE, { connection: redis, prefix: PREFIX })
  const idleQueue = new Queue(IDLE_QUEUE, { connection: redis, prefix: PREFIX })
  return {
    token,
    insertApi,
    queueApi,
    insertWorker,
    queue,
    idleQueue,
    redis,
    stored: async () => Number((await sql<{ rows: string }[]>`select count(*) as rows from feedback`)[0]!.rows),
    empty: async () => {
      await sql`truncate feedback`
      await queue.obliterate({ force: true })
      await idleQueue.obliterate({ force: true })
    },
    stop: async () => {
      await Promise.all([insertApi, queueApi, insertWorker, idleWorker].map((program) => program.stop()))
      await Promise.all([queue.close(), idleQueue.close()])
      redis.disconnect()
      await sql.end({ timeout: 5 })
    },
  }
}
