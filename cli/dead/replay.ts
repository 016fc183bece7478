import { type Operation, parseJob, QUEUE_OF } from '../../contract/job.ts'
import type { HashKey } from '../../contract/identity/own-id.ts'
import { sayingsOf } from '../../contract/identity/sayings.ts'
import { findDeadJob, markReplayed, type ReplayRefusal } from '../../db/submissions/dead.ts'
import type { Sql } from '../../db/postgres.ts'
import { makeRoom } from '../../queue/find-job.ts'
import { type JobQueues, submissionEnqueuer } from '../../queue/job-queues.ts'
import { putOnBooks } from '../../queue/put-on-books.ts'
import type { RedisClient } from '../../queue/connect-redis.ts'

export type ReplayStores = { sql: Sql; redis: RedisClient; prefix: string; queues: JobQueues; hashKey: HashKey }

/** Queued again, or why not: `finishing` ends within seconds and `being-purged` with the purge; the other reasons stay. */
export type ReplayOutcome = 'queued' | 'unreadable' | 'finishing' | ReplayRefusal

type Dead = { workspaceId: string; id: string; operation: Operation }

/**
 * Queues a dead submission again under its id and its acceptance number: it takes its old place, and fences refuse what was
 * purged since. Repeating it queues it once. The receipt is changed first, then the books, then the job is queued: when this
 * ends in between, a worker's upkeep gives the submission up again (`worker/upkeep/give-up-lost-replays.ts`).
 */
export const replay = async (stores: ReplayStores, { workspaceId, id, operation }: Dead): Promise<ReplayOutcome> => {
  const { sql, redis, prefix, queues, hashKey } = stores
  const held = await findDeadJob(sql, workspaceId, id)
  if (held === undefined) return 'unknown'
  if (!parseJob(held)) return 'unreadable'
  if (!(await makeRoom(queues[QUEUE_OF[operation]], id))) return 'finishing'
  const marked = await markReplayed(sql, workspaceId, id)
  const job = marked.job === null ? undefined : parseJob(marked.job)
  if (!job) return marked.outcome
  await putOnBooks(redis, prefix, { job, sayings: sayingsOf({ hashKey, workspaceId }, job) })
  await submissionEnqueuer(redis, queues)(job)
  return 'queued'
}
