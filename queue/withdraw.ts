import { admissionKeys } from './admission-keys.ts'
import { IDEMPOTENCY_SECONDS } from './idempotency.ts'
import { type RedisClient, scanKeys } from './redis.ts'

type Booked = { workspaceId: string; submissionId: string; number: number }

const MICROSECONDS_PER_MS = 1_000

/** The oldest submissions of a workspace that were admitted before a time and are not settled, at most so many. */
export const outstandingBefore = async (
  redis: RedisClient,
  prefix: string,
  { workspaceId, ms, limit }: { workspaceId: string; ms: number; limit: number },
): Promise<Booked[]> => {
  const { outstanding } = admissionKeys(prefix, workspaceId)
  const until = String(ms * MICROSECONDS_PER_MS)
  const found = await redis.zrangebyscore(outstanding, '-inf', until, 'WITHSCORES', 'LIMIT', 0, limit)
  return Array.from({ length: found.length / 2 }, (_, at) => ({
    workspaceId,
    submissionId: found[2 * at]!,
    number: Number(found[2 * at + 1]),
  }))
}

// KEYS outstanding exists ledger purges withdrawn. ARGV submission number seconds. Values of exists are number:of. Withdraws once,
// however many sweep at the same time. Whoever comes with its idempotency key is not told that it was accepted.
const WITHDRAW = `
if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('SET', KEYS[5], '', 'EX', ARGV[3])
redis.call('HINCRBY', KEYS[3], 'accepted', -1)
redis.call('ZREM', KEYS[4], ARGV[1])
local fields = redis.call('HGETALL', KEYS[2])
for i = 1, #fields, 2 do
  if string.match(fields[i + 1], '^%d+') == ARGV[2] then redis.call('HDEL', KEYS[2], fields[i]) end
end
return 1
`

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

// KEYS exists. ARGV number.
const FORGET_EXISTS = `
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  if string.match(fields[i + 1], '^%d+') == ARGV[1] then redis.call('HDEL', KEYS[1], fields[i]) end
end
return 0
`

/** Takes a settled submission off the books whose body is gone already: its worker died between these two steps. */
export const clearBooks = async (
  redis: RedisClient,
  prefix: string,
  { workspaceId, submissionId, number }: Booked,
): Promise<void> => {
  const name = admissionKeys(prefix, workspaceId)
  await Promise.all([name.outstanding, name.purges, name.removing].map((key) => redis.zrem(key, submissionId)))
  await redis.eval(FORGET_EXISTS, 1, name.exists, number)
  await forgetSayings(redis, name.said('*'), number)
}

/** The body of the submission is gone, so all that is said in its workspace is looked through. */
const forgetSayings = async (redis: RedisClient, pattern: string, number: number): Promise<void> => {
  for await (const keys of scanKeys(redis, { match: pattern.replaceAll(/[{}]/g, '\\$&'), count: 1_000 })) {
    for (const key of keys) await redis.hdel(key, String(number))
  }
}
