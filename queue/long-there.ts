import type { RedisClient } from './connect-redis.ts'
import { luaScript } from './lua-script.ts'

const LONG_THERE = luaScript('long-there')

/** `forMs` is an age by the clock of Redis; the scores are times, so many units of which are a second. */
type Asked = { readonly key: string; readonly forMs: number; readonly unitsPerSecond: number; readonly most: number }

/** Members of a sorted set of times that have been in it for so long, the oldest first. */
export const longThere = async (redis: RedisClient, { key, forMs, unitsPerSecond, most }: Asked): Promise<string[]> =>
  (await redis.eval(LONG_THERE, 1, key, (forMs * unitsPerSecond) / 1_000, unitsPerSecond, most)) as string[]
