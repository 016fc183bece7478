import type { RedisClient } from '../../queue/redis/connect-redis.ts'
import { redisCondition } from '../../queue/redis/redis-condition.ts'

const LOOK_EVERY_MS = 5_000
/** From this share of its memory on, Redis keeps no applied entries. New work is refused later. */
const SHORT_OF_ROOM_SHARE = 0.7

export type RedoTime = { ms: () => number; stop: () => void }

/** How long applied entries stay in the logs: not at all while Redis is short of room. */
export const watchRedoTime = (redis: RedisClient, redoMs: number): RedoTime => {
  let isShort = false
  const look = async (): Promise<void> => {
    const { usedBytes, maxBytes } = await redisCondition(redis)
    isShort = maxBytes > 0 && usedBytes > SHORT_OF_ROOM_SHARE * maxBytes
  }
  const lookQuietly = (): void => void look().catch(() => {})
  lookQuietly()
  const timer = setInterval(lookQuietly, LOOK_EVERY_MS)
  return { ms: () => (isShort ? 0 : redoMs), stop: () => clearInterval(timer) }
}
