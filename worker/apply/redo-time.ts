import type { RedisClient } from '../../queue/redis/connect-redis.ts'
import { readRedisCondition } from '../../queue/redis/redis-condition.ts'

const CHECK_EVERY_MS = 5_000
/**
 * While Redis uses more than this share of its memory, applied entries do not stay. The API refuses
 * new work only at a higher share.
 */
const SHORT_OF_MEMORY_SHARE = 0.7

type RedoTime = { ms: () => number; stop: () => void }

/** How long applied entries stay in the logs: `redoMs`, or 0 while Redis is short of memory. */
export const watchRedoTime = (redis: RedisClient, redoMs: number): RedoTime => {
  let isShort = false
  const check = async (): Promise<void> => {
    const { usedBytes, maxBytes } = await readRedisCondition(redis)
    isShort = maxBytes > 0 && usedBytes > SHORT_OF_MEMORY_SHARE * maxBytes
  }
  // After a failed check, the last result stays valid.
  const checkQuietly = (): void => void check().catch(() => {})
  checkQuietly()
  const timer = setInterval(checkQuietly, CHECK_EVERY_MS)
  return { ms: () => (isShort ? 0 : redoMs), stop: () => clearInterval(timer) }
}
