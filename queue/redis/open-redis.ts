import { describeFault } from '../../runtime/fault.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { RedisClient } from './connect-redis.ts'
import { redisCondition, unfitness } from './redis-condition.ts'

/**
 * Waits until a connection is ready. Logs once when Redis goes away, and once when it is back, also
 * while it waits.
 */
export const whenReady = async (redis: RedisClient, log: Logger): Promise<RedisClient> => {
  logReachability(redis, log)
  // BullMQ keeps the failure of its first command for ever, so nothing is opened on a connection
  // that is not ready.
  await new Promise<void>((resolve) => (redis.status === 'ready' ? resolve() : redis.once('ready', resolve)))
  return redis
}

/**
 * Why this Redis must not be used, if there is a reason. What may cost accepted work, or is not
 * told, is logged.
 */
export const whyNotThisRedis = async (redis: RedisClient, log: Logger): Promise<string | undefined> => {
  const condition = await redisCondition(redis)
  if (condition.appendOnly === false) log('warn', 'redis_without_append_only_file')
  if (condition.policy === undefined) log('warn', 'redis_policy_unknown')
  return unfitness(condition)
}

/** After so long without a failure, a cluster counts as whole. */
const QUIET_MS = 5_000

/**
 * The client emits errors many times a second; the log gets one line about an outage, and one about
 * its end.
 */
const logReachability = (redis: RedisClient, log: Logger): void => {
  let reachable = true
  const away = (error: unknown): void => {
    if (reachable) log('warn', 'redis_unreachable', { fault: describeFault(error) })
    reachable = false
  }
  redis.on('error', away)
  const again = (): void => {
    if (!reachable) log('info', 'redis_reachable')
    reachable = true
  }
  redis.on('ready', again)
  if (!redis.isCluster) return
  // A cluster does not tell that a node is back. So it counts as back when nothing has failed for a
  // while.
  let quiet: ReturnType<typeof setTimeout> | undefined
  redis.on('node error', (error: unknown) => {
    away(error)
    clearTimeout(quiet)
    quiet = setTimeout(again, QUIET_MS)
  })
}
