import type { RedisClient } from '../redis/connect-redis.ts'
import { workspaceKeys } from '../keys.ts'
import { scanKeys } from '../redis/redis-servers.ts'

/** Names that one call of Redis looks at. It frees what is found in the background. */
const LOOKED_AT = 1_000

/**
 * Removes all keys of a workspace that is deleted, and returns how many. A worker that applies its
 * log finds it empty. What is admitted meanwhile may be left: only a call that finds no keys says
 * that none are there.
 */
export const forgetWorkspace = async (redis: RedisClient, prefix: string, workspaceId: string): Promise<number> => {
  let forgotten = 0
  for await (const names of scanKeys(redis, { match: workspaceKeys(prefix, workspaceId).every, count: LOOKED_AT })) {
    if (names.length > 0) forgotten += await redis.unlink(...names)
  }
  return forgotten
}

/**
 * Removes what came of deleted workspaces after they were forgotten: a process that cannot ask
 * Postgres knows their tokens for a while. Each admission leaves one of the keys that are looked
 * for. Returns how many keys.
 */
export const forgetLeftOf = async (
  redis: RedisClient,
  prefix: string,
  workspaceIds: readonly string[],
): Promise<number> => {
  let forgotten = 0
  for (const workspaceId of workspaceIds) {
    const { state, log, idempotency } = workspaceKeys(prefix, workspaceId)
    if ((await redis.exists(state, log, idempotency)) === 0) continue
    forgotten += await forgetWorkspace(redis, prefix, workspaceId)
  }
  return forgotten
}
