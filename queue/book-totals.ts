import type { BookTotals } from '../contract/ledger.ts'
import type { RedisClient } from './connect-redis.ts'
import { admissionKeys, readByNumber } from './keys.ts'

/** What is admitted meanwhile waits behind no more than these on its way to Redis and back: for some milliseconds. */
const ASKED_AT_ONCE = 500

/** What the books of these workspaces say: how much was accepted, how much of it is not settled, and since when. */
export const readBookTotals = async (
  redis: RedisClient,
  prefix: string,
  workspaceIds: readonly string[],
): Promise<BookTotals[]> => {
  const totals: BookTotals[] = []
  for (let at = 0; at < workspaceIds.length; at += ASKED_AT_ONCE) {
    const asked = workspaceIds.slice(at, at + ASKED_AT_ONCE)
    totals.push(...(await Promise.all(asked.map((id) => totalsOf(redis, prefix, id)))))
  }
  return totals
}

/** The oldest is asked for only where something is queued, which is in few of a thousand workspaces. */
const totalsOf = async (redis: RedisClient, prefix: string, workspaceId: string): Promise<BookTotals> => {
  const name = admissionKeys(prefix, workspaceId)
  const [accepted, queued] = (await redis.hmget(name.ledger, 'accepted', 'queued')).map(Number)
  const first = queued === 0 ? [] : await redis.zrange(name.outstanding, '0', '0', 'WITHSCORES')
  const oldestNumber = readByNumber(first)[0]?.number ?? null
  return { workspaceId, accepted: accepted!, queued: queued!, oldestNumber }
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
