import type { RedisClient } from '../redis/connect-redis.ts'
import { processKeys } from '../keys.ts'

/**
 * Whether this process gets the turn at a task. The first process that asks in a period gets it.
 */
export const takeTurn = async (
  redis: RedisClient,
  prefix: string,
  { name, periodMs }: { name: string; periodMs: number },
): Promise<boolean> => {
  const key = processKeys(prefix).turn(name)
  if ((await redis.set(key, 1, 'PX', periodMs, 'NX')) !== null) return true
  // A key with a longer time to live was set before the clock of Redis went back.
  if ((await redis.pttl(key)) <= periodMs) return false
  await redis.set(key, 1, 'PX', periodMs)
  return true
}
