import type { BookTotals } from '../contract/ledger.ts'
import { admissionKeys } from './admission-keys.ts'
import type { RedisClient } from './redis.ts'

/** What the books of a workspace say: how much was accepted, how much of it is not settled, and since when. */
export const bookTotalsIn =
  (redis: RedisClient, prefix: string) =>
  async (workspaceId: string): Promise<BookTotals> => {
    const name = admissionKeys(prefix, workspaceId)
    // Both in one step, or a purge that is decided in between would be in neither.
    const counts = await redis.multi().zcard(name.outstanding).zcard(name.removing).exec()
    const queued = (counts ?? []).reduce((sum, [, count]) => sum + Number(count), 0)
    const [accepted, oldest] = await Promise.all([
      redis.hget(name.ledger, 'accepted'),
      redis.zrange(name.outstanding, '0', '0', 'WITHSCORES'),
    ])
    return {
      workspaceId,
      accepted: Number(accepted ?? 0),
      queued,
      oldestNumber: oldest[1] === undefined ? null : Number(oldest[1]),
    }
  }
