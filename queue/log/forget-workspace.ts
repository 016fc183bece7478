import type { RedisClient } from '../redis/connect-redis.ts'
import { workspaceKeys } from '../keys.ts'
import { scanKeys } from '../redis/redis-servers.ts'

/** About how many keys one SCAN looks at. */
const LOOKED_AT = 1_000

/**
 * Removes all keys of a deleted workspace, and returns how many it removed. Workers then find the
 * log empty. Concurrent admissions may leave keys: call this until it returns 0.
 */
export const forgetWorkspace = async (redis: RedisClient, prefix: string, workspaceId: string): Promise<number> => {
  let removed = 0
  for await (const names of scanKeys(redis, { match: workspaceKeys(prefix, workspaceId).pattern, count: LOOKED_AT })) {
    if (names.length > 0) removed += await redis.unlink(...names)
  }
  return removed
}

/**
 * Removes keys that were added after their workspace was forgotten, and returns how many. A process
 * that cannot reach Postgres accepts tokens of deleted workspaces for a while.
 */
export const forgetLateKeys = async (
  redis: RedisClient,
  prefix: string,
  workspaceIds: readonly string[],
): Promise<number> => {
  let removed = 0
  for (const workspaceId of workspaceIds) {
    // An admission adds at least one of these keys.
    const { state, log, idempotency } = workspaceKeys(prefix, workspaceId)
    if ((await redis.exists(state, log, idempotency)) === 0) continue
    removed += await forgetWorkspace(redis, prefix, workspaceId)
  }
  return removed
}
