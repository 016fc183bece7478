import type { RedisClient } from '../../queue/redis/connect-redis.ts'
import type { JobQueues } from '../../queue/jobs/job-queues.ts'
import { countQueued } from '../../queue/log/log-totals.ts'
import { REDIS_FULL_SHARE } from '../../contract/limits.ts'

/** While submissions come in. */
const SAMPLE_EVERY_MS = 250
const SAMPLE_IDLE_EVERY_MS = 2_000

type PressureSample = { usedBytes: number; maxBytes: number; waiting: number }
export type PressureWatch = {
  /** Why the service accepts no submissions at the moment; undefined if it accepts them. */
  current: () => 'redis-memory' | 'backlog' | undefined
  /**
   * The bytes that Redis has free below its bound. A workspace with more waiting bytes is refused.
   * So one workspace takes about half of the free memory at most.
   */
  bytesLeft: () => number
  /** Counts bytes that were queued: large bodies can fill Redis between two samples. */
  added: (bytes: number) => void
  stop: () => void
}

/**
 * Watches whether Redis is nearly full or too many submissions wait. A question looks again if the
 * last look was some time ago, and is answered from the last sample. If a sample fails, the sample
 * before it stays valid.
 */
export const watchPressure = (sample: () => Promise<PressureSample>, mostWaiting: number): PressureWatch => {
  let last: PressureSample = { usedBytes: 0, maxBytes: 0, waiting: 0 }
  let addedBytes = 0
  let isLooking = false
  let lookedAt = -Infinity
  const look = async (): Promise<void> => {
    if (isLooking || performance.now() - lookedAt < SAMPLE_EVERY_MS) return
    isLooking = true
    lookedAt = performance.now()
    // The sample counts these bytes, which Redis has already.
    const sampledBytes = addedBytes
    try {
      last = await sample()
      addedBytes -= sampledBytes
    } catch {
      // Redis is away. The admission notices this itself and refuses.
    } finally {
      isLooking = false
    }
  }
  void look()
  const timer = setInterval(() => void look(), SAMPLE_IDLE_EVERY_MS)
  const bytesLeft = (): number => {
    void look()
    const { usedBytes, maxBytes } = last
    return maxBytes > 0 ? REDIS_FULL_SHARE * maxBytes - usedBytes - addedBytes : Number.MAX_SAFE_INTEGER
  }
  return {
    current: () => {
      if (bytesLeft() <= 0) return 'redis-memory'
      return last.waiting >= mostWaiting ? 'backlog' : undefined
    },
    bytesLeft,
    added: (bytes) => {
      addedBytes += bytes
    },
    stop: () => clearInterval(timer),
  }
}

/**
 * A process adds wake jobs many times a second, so a wake job rarely stands for more submissions.
 */
const SUBMISSIONS_OF_A_WAKE_JOB = 250
const UNFINISHED = ['waiting', 'active', 'delayed'] as const

type CountedStores = { redis: RedisClient; prefix: string; queues: JobQueues }

/**
 * Counts the waiting submissions. Without backlog jobs and with few wake jobs, the submissions are
 * almost certainly below the bound. Then returns the number of wake jobs, which is cheap to count.
 */
export const countWaiting = async ({ redis, prefix, queues }: CountedStores, mostWaiting: number): Promise<number> => {
  const [wakes, deep] = await Promise.all([
    queues.wake.getJobCountByTypes(...UNFINISHED),
    queues.backlog.getJobCountByTypes(...UNFINISHED),
  ])
  if (deep === 0 && wakes * SUBMISSIONS_OF_A_WAKE_JOB < mostWaiting) return wakes
  return countQueued(redis, prefix)
}
