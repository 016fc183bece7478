import { describeFault } from '../../runtime/fault.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { RedisClient } from './connect-redis.ts'
import { readRedisCondition, unfitness } from './redis-condition.ts'

/**
 * Waits until a connection is ready. Logs the start and the end of each outage, also during this
 * wait.
 */
export const whenReady = async (redis: RedisClient, log: Logger): Promise<RedisClient> => {
  logReachability(redis, log)
  // A queue of BullMQ never recovers if its first command fails, so it needs a ready connection.
  await new Promise<void>((resolve) => (redis.status === 'ready' ? resolve() : redis.once('ready', resolve)))
  return redis
}

/**
 * Why this Redis must not be used, or undefined. Logs a warning without an append-only file, and
 * for an unknown policy.
 */
export const whyNotThisRedis = async (redis: RedisClient, log: Logger): Promise<string | undefined> => {
  const condition = await readRedisCondition(redis)
  if (condition.appendOnly === false) log('warn', 'redis_without_append_only_file')
  if (condition.policy === undefined) log('warn', 'redis_policy_unknown')
  return unfitness(condition)
}

/** After this time without a failure, a cluster counts as reachable. */
const QUIET_MS = 5_000

/** Logs each outage at its start and its end, although the client emits many errors meanwhile. */
const logReachability = (redis: RedisClient, log: Logger): void => {
  let isReachable = true
  const noteAway = (error: unknown): void => {
    if (isReachable) log('warn', 'redis_unreachable', { fault: describeFault(error) })
    isReachable = false
  }
  redis.on('error', noteAway)
  const noteBack = (): void => {
    if (!isReachable) log('info', 'redis_reachable')
    isReachable = true
  }
  redis.on('ready', noteBack)
  if (!redis.isCluster) return
  // ioredis does not report that a node of a cluster is back.
  let quiet: ReturnType<typeof setTimeout> | undefined
  redis.on('node error', (error: unknown) => {
    noteAway(error)
    clearTimeout(quiet)
    quiet = setTimeout(noteBack, QUIET_MS)
  })
}
