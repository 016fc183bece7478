import type { RedisClient } from '../redis/connect-redis.ts'
import { groupKeys, GROUPS, processKeys } from '../keys.ts'
import { luaScript } from '../redis/lua-script.ts'

/**
 * The workspaces whose logs have entries. `admit.lua` adds a workspace in the same step as the entry,
 * and `sweep.lua` removes it once its log is empty.
 */
export const listLogs = async (redis: RedisClient, prefix: string): Promise<string[]> => {
  const sets = GROUPS.map((group) => groupKeys(prefix, group).withEntries)
  if (!redis.isCluster) return redis.sunion(...sets)
  // On a cluster, groups are in different slots.
  return (await Promise.all(sets.map((set) => redis.smembers(set)))).flat()
}

/**
 * The next group of workspaces for a task that looks at all workspaces, one group at a turn. The
 * processes that run the task share the count of its turns.
 */
export const nextGroup = async (redis: RedisClient, prefix: string, task: string): Promise<string> =>
  GROUPS[(await redis.incr(processKeys(prefix).round(task))) % GROUPS.length]!

/** The workspaces of one call of the script, which blocks Redis meanwhile. */
const NOTED_AT_ONCE = 500
const NOTE_STRAYS = luaScript('note-strays', ['log'])

/**
 * Notes again what the keys of a group have lost about its workspaces: that a log has entries, and
 * the size of a book.
 */
export const noteStrays = async (
  redis: RedisClient,
  prefix: string,
  { group, workspaceIds }: { group: string; workspaceIds: readonly string[] },
): Promise<void> => {
  const { never, begin } = groupKeys(prefix, group)
  for (let at = 0; at < workspaceIds.length; at += NOTED_AT_ONCE) {
    await redis.eval(NOTE_STRAYS, 1, never, begin, ...workspaceIds.slice(at, at + NOTED_AT_ONCE))
  }
}
