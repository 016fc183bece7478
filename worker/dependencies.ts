import type { HashKey } from '../contract/identity/own-id.ts'
import type { Sql } from '../db/connection/postgres.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Tracing } from '../runtime/tracing.ts'
import type { RedisClient } from '../queue/redis/connect-redis.ts'
import type { DeliveredJob } from '../queue/jobs/open-worker.ts'
import type { JobQueues } from '../queue/jobs/job-queues.ts'

/** What a worker reads and writes. All its names in Redis begin with `prefix`. */
export type WorkerStores = { sql: Sql; redis: RedisClient; prefix: string; queues: JobQueues; hashKey: HashKey }

/** What the jobs of a worker need. */
export type WorkerDependencies = WorkerStores & {
  tracing: Tracing | undefined
  log: Logger
  /** Aborted when the process wants to end. From then on no job waits for Postgres to come back. */
  stop: AbortSignal
}

/** What a queue's worker does with each job. The result is kept with the job. */
export type Processor = (job: DeliveredJob) => Promise<unknown>

/** What Redis keeps of a failure. The cause stays out, because it can quote a customer's data. */
export const withoutCause = (fault: string): Error => new Error(fault)
