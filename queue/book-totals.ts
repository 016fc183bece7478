import type { BookTotals } from '../contract/ledger.ts'
import type { RedisClient } from './connect-redis.ts'
import { admissionKeys, readByNumber } from './keys.ts'

/** What the books of a workspace say: how much was accepted, how much of it is not settled, and since when. */
export const bookTotalsIn =
  (redis: RedisClient, prefix: string) =>
  async (workspaceId: string): Promise<BookTotals> => {
    const name = admissionKeys(prefix, workspaceId)
    // Both counts in one step, or a purge that is decided in between would be in neither.
    const counts = await redis.multi().zcard(name.outstanding).zcard(name.removing).exec()
    const queued = (counts ?? []).reduce((sum, [, count]) => sum + Number(count), 0)
    const [accepted, first] = await Promise.all([
      redis.hget(name.ledger, 'accepted'),
      redis.zrange(name.outstanding, '0', '0', 'WITHSCORES'),
    ])
    const [oldest] = readByNumber(first)
    return { workspaceId, accepted: Number(accepted ?? 0), queued, oldestNumber: oldest?.number ?? null }
  }
