import { parseJob } from '../../contract/job.ts'
import type { HashKey } from '../../contract/identity/own-id.ts'
import { sayingsOf } from '../../contract/identity/sayings.ts'
import { findDeadJob, markReplayed, type ReplayRefusal } from '../../db/submissions/dead.ts'
import type { Sql } from '../../db/postgres.ts'
import { booksIn } from '../../queue/books.ts'
import type { RedisClient } from '../../queue/connect-redis.ts'

export type ReplayStores = { sql: Sql; redis: RedisClient; prefix: string; hashKey: HashKey }

/** Queued again, or why not: `being-purged` ends with the purge; the other reasons stay. */
export type ReplayOutcome = 'queued' | 'unreadable' | ReplayRefusal

/**
 * Queues a dead submission again under its id and its acceptance number: it takes its old place, and fences refuse what was purged since.
 * Repeating it queues it once. It is put on the books and into the outbox, from where a worker hands it over within seconds; when this
 * ends before that, a worker's upkeep puts it there (`worker/upkeep/finish-replays.ts`).
 */
export const replay = async (
  { sql, redis, prefix, hashKey }: ReplayStores,
  { workspaceId, id }: { workspaceId: string; id: string },
): Promise<ReplayOutcome> => {
  const held = await findDeadJob(sql, workspaceId, id)
  if (held === undefined) return 'unknown'
  if (!parseJob(held)) return 'unreadable'
  const marked = await markReplayed(sql, workspaceId, id)
  const submission = marked.job === null ? undefined : parseJob(marked.job)
  if (!submission) return marked.outcome
  const sayings = sayingsOf({ hashKey, workspaceId }, submission)
  await booksIn(redis, prefix).put({ submission, idempotency: undefined }, sayings)
  return 'queued'
}
