import { type Job, UnrecoverableError, Worker } from 'bullmq'
import type { QueueName } from '../../contract/jobs.ts'
import type { RedisClient } from '../redis/connect-redis.ts'
import { FINISHED_JOBS_KEPT, queuePrefix } from './job-queues.ts'

// Jobs of a killed worker are delivered again within the sum of these two.
const LOCK_MS = 8_000
const LOOK_FOR_STALLED_EVERY_MS = 3_000
/** The pause before a worker takes jobs again after a fault of Redis. BullMQ's default is 15 s. */
const TRY_AGAIN_AFTER_MS = 1_000

/** A tagging job fails after more deaths of workers: its texts may kill them. */
const MOST_DEATHS_IN_TAGGING = 20

export type QueueWorker = Worker
/** A job in the hands of a worker. */
export type DeliveredJob = Job
type WorkerSettings = { connection: RedisClient; prefix: string; concurrency: number }

/** An error with which BullMQ fails the job without a retry. */
export const unrecoverable = (why: string): Error => new UnrecoverableError(why)

/** The error to keep in Redis, without a cause: a cause can quote a customer's data. */
export const withoutCause = (fault: string): Error => new Error(fault)

/** Starts taking jobs of a queue. */
export const openWorker = (
  name: QueueName,
  process: (job: DeliveredJob) => Promise<unknown>,
  { connection, prefix, concurrency }: WorkerSettings,
): QueueWorker =>
  new Worker(name, name === 'backlog' ? letNextWait(process) : process, {
    connection,
    prefix: queuePrefix(prefix, name),
    concurrency,
    removeOnComplete: FINISHED_JOBS_KEPT,
    // Only failed tagging jobs stay without a bound: maintenance finds other unfinished work again.
    ...(name !== 'tagging' && { removeOnFail: FINISHED_JOBS_KEPT }),
    // Deaths fail no other job. Leases count the deaths of workers that apply a log (lua/take.lua).
    maxStalledCount: name === 'tagging' ? MOST_DEATHS_IN_TAGGING : Number.MAX_SAFE_INTEGER,
    lockDuration: LOCK_MS,
    stalledInterval: LOOK_FOR_STALLED_EVERY_MS,
    runRetryDelay: TRY_AGAIN_AFTER_MS,
  })

/**
 * Removes the deduplication key of a job when the job begins. Otherwise a wake that arrives while
 * the job ends would be lost.
 */
const letNextWait =
  (process: (job: DeliveredJob) => Promise<unknown>) =>
  async (job: DeliveredJob): Promise<unknown> => {
    await job.removeDeduplicationKey()
    return process(job)
  }
