import { type Operation, QUEUE_OF } from '../contract/job.ts'
import type { BatchQueueName } from '../contract/queues.ts'
import { LONGEST_HEAD, readHead } from './batch.ts'
import type { RedisClient } from './connect-redis.ts'
import type { HandedBatch, HandOver } from './hand-over.ts'
import { type JobQueues, livingAmong } from './job-queues.ts'
import { admissionKeys, MICROSECONDS_PER_MS } from './keys.ts'
import { longThere } from './long-there.ts'

/** Batches of a workspace that are looked at in one go, the oldest first. */
const LOOKED_AT = 100

type Stores = { redis: RedisClient; prefix: string; queues: JobQueues; handOver: HandOver }

/** Hands over what has been in the outbox for so long: its process died, or Redis was away. Returns how many batches. */
export const handOverLeft = async (
  { redis, prefix, handOver }: Stores,
  { workspaceIds, forMs }: { workspaceIds: readonly string[]; forMs: number },
): Promise<number> => {
  const outboxes = workspaceIds.map((workspaceId) => admissionKeys(prefix, workspaceId).outbox)
  const left = await longThere(redis, outboxes, { forMs, unitsPerSecond: 1_000, most: LOOKED_AT })
  const handed = await Promise.all(
    workspaceIds.map((workspaceId, at) => handOverAgain({ redis, prefix, handOver }, workspaceId, left[at]!)),
  )
  return sum(handed)
}

/**
 * Hands over what has been outstanding for so long and has no job: a failover can lose a job and keep the books. Returns how many
 * batches.
 */
export const handOverLost = async (
  { redis, prefix, queues, handOver }: Stores,
  { workspaceIds, forMs }: { workspaceIds: readonly string[]; forMs: number },
): Promise<number> => {
  const bounds = { forMs, unitsPerSecond: 1_000 * MICROSECONDS_PER_MS, most: LOOKED_AT }
  const names = workspaceIds.map((workspaceId) => admissionKeys(prefix, workspaceId))
  const [outstanding, removing] = await Promise.all([
    longThere(
      redis,
      names.map((name) => name.outstanding),
      bounds,
    ),
    longThere(
      redis,
      names.map((name) => name.removing),
      bounds,
    ),
  ])
  const handed = await Promise.all(
    workspaceIds.map(async (workspaceId, place) => {
      const { carriers, backlog } = names[place]!
      const all = [...outstanding[place]!, ...removing[place]!]
      if (all.length === 0) return 0
      // What is in the backlog has no job of its own to lose.
      const inBacklog = await redis.zmscore(backlog, ...all)
      const old = all.filter((_, at) => inBacklog[at] === null)
      if (old.length === 0) return 0
      const jobs = await redis.hmget(carriers, ...old)
      const living = await livingAmong(queues, new Set(jobs.filter((carrier) => carrier !== null)))
      const lost = old.filter((_, at) => jobs[at] == null || !living.has(jobs[at]))
      return handOverAgain({ redis, prefix, handOver }, workspaceId, lost)
    }),
  )
  return sum(handed)
}

/** A batch for a job, and the queue of that job; undefined when the batch is gone. */
export const describeBatch = async (
  { redis, prefix }: Pick<Stores, 'redis' | 'prefix'>,
  { workspaceId, batchId }: { workspaceId: string; batchId: string },
): Promise<{ queue: BatchQueueName; batch: HandedBatch } | undefined> => {
  const key = admissionKeys(prefix, workspaceId).batch(batchId)
  const [head, bytes] = await Promise.all([redis.getrange(key, 0, LONGEST_HEAD - 1), redis.strlen(key)])
  if (head === '') return undefined
  const operations: Operation[] = readHead(head).operations.map(({ operation }) => operation)
  return { queue: QUEUE_OF[operations[0]!], batch: { workspaceId, batchId, operations, bytes } }
}

const handOverAgain = async (
  stores: Pick<Stores, 'redis' | 'prefix' | 'handOver'>,
  workspaceId: string,
  batchIds: readonly string[],
): Promise<number> => {
  const handed = await Promise.all(
    batchIds.map(async (batchId) => {
      const described = await describeBatch(stores, { workspaceId, batchId })
      if (described === undefined) return 0
      await stores.handOver(described.queue, described.batch)
      return 1
    }),
  )
  return sum(handed)
}

const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0)
