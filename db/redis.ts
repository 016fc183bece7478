import { Redis } from 'ioredis'

const CONNECT_TIMEOUT_MS = 2_000
const COMMAND_TIMEOUT_MS = 2_000
const LONGEST_RECONNECT_DELAY_MS = 2_000

const reconnectDelay = (times: number): number => Math.min(50 * 2 ** Math.min(times, 10), LONGEST_RECONNECT_DELAY_MS)

/**
 * For those who answer somebody: a Redis that is away or hangs fails a command within two seconds instead of keeping it.
 * A command that timed out may still be carried out, and one whose answer was lost with the connection is sent once more: so
 * whatever it does has to bear repeating.
 */
export const connectToAnswer = (url: string): Redis =>
  new Redis(url, {
    enableOfflineQueue: false,
    commandTimeout: COMMAND_TIMEOUT_MS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    maxRetriesPerRequest: 1,
    retryStrategy: reconnectDelay,
  })

/** For workers: they wait for their Redis as long as it takes. */
export const connectToWork = (url: string): Redis =>
  new Redis(url, { connectTimeout: CONNECT_TIMEOUT_MS, maxRetriesPerRequest: null, retryStrategy: reconnectDelay })

/**
 * For commands: connected when it resolves, and it does not come back when the connection ends.
 *
 * @throws when Redis cannot be reached, at once.
 */
export const connectForCommand = async (url: string): Promise<Redis> => {
  const redis = new Redis(url, { lazyConnect: true, connectTimeout: CONNECT_TIMEOUT_MS, retryStrategy: () => null })
  redis.on('error', () => {})
  await redis.connect()
  return redis
}

export type RedisCondition = { policy: string; appendOnly: boolean; usedBytes: number; maxBytes: number }

/** What a Redis says about its memory and its append-only file. `maxBytes` 0 means that it has no bound. */
export const redisCondition = async (redis: Redis): Promise<RedisCondition> => {
  const info = await redis.info()
  const field = (name: string): string => new RegExp(`^${name}:(.*)\\r?$`, 'm').exec(info)?.[1] ?? ''
  return {
    policy: field('maxmemory_policy'),
    appendOnly: field('aof_enabled') === '1',
    usedBytes: Number(field('used_memory')),
    maxBytes: Number(field('maxmemory')),
  }
}

/** The reason why this Redis must not be used, if there is one: with an eviction policy it would drop accepted work. */
export const unfitness = ({ policy }: RedisCondition): string | undefined =>
  policy === 'noeviction'
    ? undefined
    : `Redis has maxmemory-policy ${policy}, which loses accepted submissions. Set it to noeviction.`
