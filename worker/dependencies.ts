import type { HashKey } from '../contract/identity/own-id.ts'
import type { Sql } from '../db/connection/postgres.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Tracing } from '../runtime/tracing.ts'
import type { RedisClient } from '../queue/redis/connect-redis.ts'
import type { DeliveredJob } from '../queue/jobs/open-worker.ts'
import type { JobQueues } from '../queue/jobs/job-queues.ts'

/** The stores of a worker. All its names in Redis begin with `prefix`. */
export type WorkerStores = { sql: Sql; redis: RedisClient; prefix: string; queues: JobQueues; hashKey: HashKey }

/** The dependencies of jobs. */
export type WorkerDependencies = WorkerStores & {
  tracing: Tracing | undefined
  log: Logger
  /** Aborted when the process is to end. After that, no job waits for Postgres to come back. */
  stop: AbortSignal
}

/** Processes a job of one queue. BullMQ keeps the result with the job. */
export type Processor = (job: DeliveredJob) => Promise<unknown>

/** The error that Redis keeps. Its cause stays out, since it can quote a customer's data. */
export const withoutCause = (fault: string): Error => new Error(fault)
