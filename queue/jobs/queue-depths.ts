import type { Queue } from 'bullmq'
import type { RedisClient } from '../redis/connect-redis.ts'

const STATES = ['waiting', 'active', 'delayed', 'failed'] as const

/**
 * The jobs of a queue by state. `oldestSeconds` is the age of the oldest job that is neither
 * finished nor failed; 0 if there is none.
 */
export type QueueDepth = { queue: string; oldestSeconds: number } & Record<(typeof STATES)[number], number>

/** Delayed jobs are ordered by due time. The oldest job is searched among this many. */
const DELAYED_LOOKED_AT = 100

/**
 * The time of a job is from the clock of the process that added it. The age is the time to `nowMs`.
 */
export const readQueueDepths = (queues: readonly Queue[], redis: RedisClient, nowMs: number): Promise<QueueDepth[]> =>
  Promise.all(
    queues.map(async (queue) => {
      const [counts, oldest] = await Promise.all([queue.getJobCounts(...STATES), oldestOf(queue, redis)])
      const { waiting = 0, active = 0, delayed = 0, failed = 0 } = counts
      const oldestSeconds = oldest === undefined ? 0 : Math.max(0, nowMs - oldest) / 1_000
      return { queue: queue.name, waiting, active, delayed, failed, oldestSeconds }
    }),
  )

const oldestOf = async (queue: Queue, redis: RedisClient): Promise<number | undefined> => {
  const first = await Promise.all([
    queue.getRanges(['waiting'], 0, 0, true),
    queue.getRanges(['active'], 0, 0, true),
    queue.getRanges(['delayed'], 0, DELAYED_LOOKED_AT - 1, true),
  ])
  const times = await Promise.all(first.flat().map((id) => redis.hget(queue.toKey(id), 'timestamp')))
  // A job that was removed in the meantime has no time.
  const known = times.flatMap((time) => (time == null ? [] : Number(time)))
  return known.length === 0 ? undefined : Math.min(...known)
}
