import type { HashKey } from '../contract/identity/own-id.ts'
import type { Sql } from '../db/postgres.ts'
import type { Log } from '../process/log.ts'
import type { Tracing } from '../process/tracing.ts'
import type { JobQueues } from '../queue/job-queues.ts'
import type { RedisClient } from '../queue/connect-redis.ts'

/** What a worker stores in and reads from; all its names in Redis begin with `prefix`. */
export type WorkerStores = { sql: Sql; redis: RedisClient; prefix: string; queues: JobQueues; hashKey: HashKey }

/** What the jobs of a worker need. */
export type WorkerDependencies = WorkerStores & {
  /** A statement that is not answered by then hangs with its connection: it is sent once more, on another connection. */
  answerWithinMs: number
  tracing: Tracing | undefined
  log: Log
  /** Aborted when the process wants to end: from then on no job waits for Postgres to come back. */
  stop: AbortSignal
}
