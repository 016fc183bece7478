import { type Job, Worker } from 'bullmq'
import { FINISHED_JOBS_KEPT, type QueueName, queuePrefix } from '../contract/queues.ts'
import type { RedisClient } from './connect-redis.ts'

// The jobs of a killed worker are delivered again within the sum of these two. With BullMQ's defaults, 30 s each, it took a minute.
const LOCK_MS = 8_000
const LOOK_FOR_STALLED_EVERY_MS = 3_000
/** After an outage of Redis. BullMQ's default is 15 s. */
const TRY_AGAIN_AFTER_MS = 1_000

/** After so many deaths of workers a tagging job ends as failed: its text may be what kills them, and is stored already. */
const MOST_DEATHS_IN_TAGGING = 20

export type QueueWorker = Worker
type WorkerSettings = { connection: RedisClient; prefix: string; concurrency: number }

/** Begins to take jobs of a queue. */
export const openWorker = (
  name: QueueName,
  process: (job: Job) => Promise<unknown>,
  { connection, prefix, concurrency }: WorkerSettings,
): QueueWorker =>
  new Worker(name, process, {
    connection,
    prefix: queuePrefix(prefix, name),
    concurrency,
    removeOnComplete: FINISHED_JOBS_KEPT,
    // Deaths of workers end no job that names batches: what kills them is found by the worker (worker/suspects.ts).
    maxStalledCount: name === 'tagging' ? MOST_DEATHS_IN_TAGGING : Number.MAX_SAFE_INTEGER,
    lockDuration: LOCK_MS,
    stalledInterval: LOOK_FOR_STALLED_EVERY_MS,
    runRetryDelay: TRY_AGAIN_AFTER_MS,
  })
