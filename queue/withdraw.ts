import type { RedisClient } from './connect-redis.ts'
import { IDEMPOTENCY_SECONDS } from './idempotency.ts'
import { admissionKeys, MICROSECONDS_PER_MS, type Numbered, readByNumber } from './keys.ts'
import { luaScript } from './lua-script.ts'
import { scanKeys } from './redis-servers.ts'

const WITHDRAW = luaScript('withdraw', ['forget-new-ids'])
const FORGET_NEW_IDS = luaScript('forget-new-ids', ['forget-new-ids'])

type Booked = Numbered & { workspaceId: string }

/** The oldest submissions of a workspace that were admitted before a time and are not settled, at most so many. */
export const outstandingBefore = async (
  redis: RedisClient,
  prefix: string,
  { workspaceId, ms, limit }: { workspaceId: string; ms: number; limit: number },
): Promise<Booked[]> => {
  const { outstanding } = admissionKeys(prefix, workspaceId)
  const until = String(ms * MICROSECONDS_PER_MS)
  const found = await redis.zrangebyscore(outstanding, '-inf', until, 'WITHSCORES', 'LIMIT', 0, limit)
  return readByNumber(found).map((numbered) => ({ workspaceId, ...numbered }))
}

/** Takes an admission back whose job never came. False when somebody else has done so. */
export const withdraw = async (
  redis: RedisClient,
  prefix: string,
  { workspaceId, submissionId, number }: Booked,
): Promise<boolean> => {
  const name = admissionKeys(prefix, workspaceId)
  const keys = [name.outstanding, name.exists, name.ledger, name.purges, name.withdrawn(submissionId)]
  const withdrawn = await redis.eval(WITHDRAW, keys.length, ...keys, submissionId, number, IDEMPOTENCY_SECONDS)
  await forgetSayings(redis, name.said('*'), number)
  return withdrawn === 1
}

/** Takes a settled submission off the books whose body is gone already: its worker died between these two steps. */
export const clearBooks = async (
  redis: RedisClient,
  prefix: string,
  { workspaceId, submissionId, number }: Booked,
): Promise<void> => {
  const name = admissionKeys(prefix, workspaceId)
  await Promise.all([name.outstanding, name.purges, name.removing].map((key) => redis.zrem(key, submissionId)))
  await redis.eval(FORGET_NEW_IDS, 1, name.exists, number)
  await forgetSayings(redis, name.said('*'), number)
}

/** The body of the submission is gone, so this looks through all that is said in its workspace. */
const forgetSayings = async (redis: RedisClient, pattern: string, number: number): Promise<void> => {
  for await (const keys of scanKeys(redis, { match: pattern.replaceAll(/[{}]/g, '\\$&'), count: 1_000 })) {
    for (const key of keys) await redis.hdel(key, String(number))
  }
}
