import type { RedisClient } from '../redis/connect-redis.ts'
import { groupKeys, GROUPS, processKeys } from '../keys.ts'

/**
 * The workspaces whose logs have entries. `admit.lua` adds a workspace in the same step as the entry,
 * and `sweep.lua` removes it once its log is empty.
 */
export const listLogs = async (redis: RedisClient, prefix: string): Promise<string[]> => {
  const sets = GROUPS.map((group) => groupKeys(prefix, group).withLog)
  // On a cluster, groups are in different slots.
  return redis.isCluster
    ? (await Promise.all(sets.map((set) => redis.smembers(set)))).flat()
    : await redis.sunion(...sets)
}

/**
 * The next group of workspaces for a task that looks at all workspaces, one group at a turn. The
 * processes that run the task share the count of its turns.
 */
export const nextGroup = async (redis: RedisClient, prefix: string, task: string): Promise<string> =>
  GROUPS[(await redis.incr(processKeys(prefix).round(task))) % GROUPS.length]!
