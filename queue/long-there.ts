import { Cluster } from 'ioredis'
import type { RedisClient } from './connect-redis.ts'
import { luaScript } from './lua-script.ts'

const LONG_THERE = luaScript('long-there')
/** Upkeep asks about all workspaces again and again, of which nearly none has anything: a call for each cost more than the answer. */
const KEYS_AT_ONCE = 100

/** `forMs` is an age by the clock of Redis; the scores are times, so many units of which are a second; so many of each key at most. */
type Bounds = { readonly forMs: number; readonly unitsPerSecond: number; readonly most: number }

/** For each key, members of its sorted set of times that have been in it for so long, the oldest first. */
export const longThere = async (
  redis: RedisClient,
  keys: readonly string[],
  { forMs, unitsPerSecond, most }: Bounds,
): Promise<string[][]> => {
  // On a cluster, each workspace may be in another slot.
  const atOnce = redis instanceof Cluster ? 1 : KEYS_AT_ONCE
  const portions = Array.from({ length: Math.ceil(keys.length / atOnce) }, (_, at) =>
    keys.slice(at * atOnce, (at + 1) * atOnce),
  )
  const found = await Promise.all(
    portions.map((some) =>
      redis.eval(LONG_THERE, some.length, ...some, (forMs * unitsPerSecond) / 1_000, unitsPerSecond, most),
    ),
  )
  return (found as string[][][]).flat()
}
