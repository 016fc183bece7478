import type { RedisClient } from './connect-redis.ts'
import { admissionKeys } from './keys.ts'
import { scanKeys } from './redis-servers.ts'

/** Names that one call of Redis looks at; what is found among them goes in one call, and is freed in the background. */
const LOOKED_AT = 1_000

/**
 * Removes all keys of a workspace that is deleted, and returns how many. A worker that has batches of it in hand finds them gone, and
 * whatever settles, splits or carries a batch makes no key for one that is gone. What is admitted meanwhile may be left: only a call
 * that finds nothing says that nothing is there.
 */
export const forgetWorkspace = async (redis: RedisClient, prefix: string, workspaceId: string): Promise<number> => {
  let forgotten = 0
  for await (const names of scanKeys(redis, { match: admissionKeys(prefix, workspaceId).every, count: LOOKED_AT })) {
    if (names.length > 0) forgotten += await redis.unlink(...names)
  }
  return forgotten
}

/**
 * Removes what came of deleted workspaces after they were forgotten: a process that cannot ask Postgres knows their tokens for a while.
 * Whatever is admitted, or put on the books, leaves one of the keys that are looked for. Returns how many keys.
 */
export const forgetLeftOf = async (
  redis: RedisClient,
  prefix: string,
  workspaceIds: readonly string[],
): Promise<number> => {
  let forgotten = 0
  for (const workspaceId of workspaceIds) {
    const { number, ledger, outstanding, outbox, alone, idempotency } = admissionKeys(prefix, workspaceId)
    if ((await redis.exists(number, ledger, outstanding, outbox, alone, idempotency)) === 0) continue
    forgotten += await forgetWorkspace(redis, prefix, workspaceId)
  }
  return forgotten
}
