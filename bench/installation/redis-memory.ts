import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'

const LOOKS = 10
/** Memory below this share of its former value is still falling. */
const STILL_FALLING = 0.99

const usedBytes = async (redis: Redis): Promise<number> =>
  Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))![1])

/**
 * The memory of Redis once it has stopped falling. Until then, it includes passing buffers and
 * memory that Redis frees later.
 */
export const restingBytes = async (redis: Redis, lookForMs: number): Promise<number> => {
  for (let former = Infinity; ;) {
    const least = await leastUsedBytes(redis, lookForMs)
    if (least >= former * STILL_FALLING) return Math.min(least, former)
    former = least
  }
}

const leastUsedBytes = async (redis: Redis, withinMs: number): Promise<number> => {
  let least = Infinity
  for (let look = 0; look < LOOKS; look++) {
    await pause(withinMs / LOOKS)
    least = Math.min(least, await usedBytes(redis))
  }
  return least
}
