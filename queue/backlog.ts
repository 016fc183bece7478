import { type BacklogJob, JOB_VERSION } from '../contract/job.ts'
import { JOB_OPTIONS } from '../contract/queues.ts'
import type { RedisClient } from './connect-redis.ts'
import type { JobQueues } from './job-queues.ts'
import { admissionKeys } from './keys.ts'
import { longThere } from './long-there.ts'

/**
 * A workspace that has more waiting than this has a backlog: what is admitted then waits there, and not in front of what others submit.
 * Postgres stores so much plain feedback in some 50 ms.
 */
export const BACKLOG_BEYOND = { bytes: 300_000, submissions: 250 }

/**
 * Has one job drain the backlog of each of these workspaces. A workspace has at most one such job, which goes behind those of the others
 * whenever it has stored a share, so whoever has most waiting takes no more turns than anybody else. It leaves nothing behind when it ends,
 * or the next one of its name could not be added.
 */
export const drainBacklogs = async (queues: JobQueues, workspaceIds: readonly string[]): Promise<void> => {
  const ends = { removeOnComplete: true, removeOnFail: true }
  await queues.backlogs.addBulk(
    workspaceIds.map((workspaceId) => {
      const data: BacklogJob = { version: JOB_VERSION, workspaceId }
      return { name: 'drain', data, opts: { ...JOB_OPTIONS, ...ends, jobId: workspaceId } }
    }),
  )
}

/** A batch of a backlog, with its bytes. */
export type BacklogBatch = { workspaceId: string; batchId: string; bytes: number }

/** Those of the first batches of a backlog that are not in hand yet. */
export const readBacklog = async (
  redis: RedisClient,
  prefix: string,
  { workspaceId, most, inHand }: { workspaceId: string; most: number; inHand: ReadonlySet<string> },
): Promise<BacklogBatch[]> => {
  const name = admissionKeys(prefix, workspaceId)
  const first = await redis.zrange(name.backlog, '0', String(most - 1))
  const batchIds = first.filter((batchId) => !inHand.has(batchId))
  const bytes = await Promise.all(batchIds.map((batchId) => redis.strlen(name.batch(batchId))))
  const gone = batchIds.filter((_, at) => bytes[at] === 0)
  if (gone.length > 0) await redis.zrem(name.backlog, ...gone)
  return batchIds.flatMap((batchId, at) => (bytes[at] === 0 ? [] : { workspaceId, batchId, bytes: bytes[at]! }))
}

/** Has a backlog drained further whose job has just ended. When this fails, upkeep does it within seconds. */
export const drainFurther = async (
  { redis, prefix, queues }: { redis: RedisClient; prefix: string; queues: JobQueues },
  workspaceId: string,
): Promise<void> => {
  const left = await backlogsSince(redis, prefix, { workspaceIds: [workspaceId] })
  if (left.length > 0) await drainBacklogs(queues, left)
}

/** Those of the workspaces in whose backlog something has been waiting for so long, or at all. */
export const backlogsSince = async (
  redis: RedisClient,
  prefix: string,
  { workspaceIds, forMs }: { workspaceIds: readonly string[]; forMs?: number },
): Promise<string[]> => {
  const backlogs = workspaceIds.map((workspaceId) => admissionKeys(prefix, workspaceId).backlog)
  const first =
    forMs === undefined
      ? await Promise.all(backlogs.map((backlog) => redis.zrange(backlog, '0', '0')))
      : await longThere(redis, backlogs, { forMs, unitsPerSecond: 1_000, most: 1 })
  return workspaceIds.filter((_, at) => first[at]!.length > 0)
}
