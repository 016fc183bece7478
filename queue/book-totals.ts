import type { BookTotals } from '../contract/ledger.ts'
import type { RedisClient } from './connect-redis.ts'
import { admissionKeys, readByNumber } from './keys.ts'

/** What the books of a workspace say: how much was accepted, how much of it is not settled, and since when. */
export const bookTotalsIn =
  (redis: RedisClient, prefix: string) =>
  async (workspaceId: string): Promise<BookTotals> => {
    const name = admissionKeys(prefix, workspaceId)
    const [[accepted, queued], first] = await Promise.all([
      redis.hmget(name.ledger, 'accepted', 'queued'),
      redis.zrange(name.outstanding, '0', '0', 'WITHSCORES'),
    ])
    const [oldest] = readByNumber(first)
    return {
      workspaceId,
      accepted: Number(accepted ?? 0),
      queued: Number(queued ?? 0),
      oldestNumber: oldest?.number ?? null,
    }
  }

/** How many submissions of these workspaces are not settled. */
export const countQueued = async (
  redis: RedisClient,
  prefix: string,
  workspaceIds: readonly string[],
): Promise<number> => {
  const counts = await Promise.all(workspaceIds.map((id) => redis.hget(admissionKeys(prefix, id).ledger, 'queued')))
  return counts.reduce((sum, count) => sum + Number(count ?? 0), 0)
}
