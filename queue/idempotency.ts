import { admissionKeys } from './admission-keys.ts'
import type { RedisClient } from './redis.ts'

/** Keyed hashes of an `Idempotency-Key` and of the body that came with it. */
export type Idempotency = { key: string; body: string }

export const IDEMPOTENCY_SECONDS = 24 * 60 * 60

// KEYS the records that concern a key. ARGV how names of records begin, number. Frees those of submissions that were accepted before it.
const FREE = `
for _, key in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[2])) do
  local number = string.match(redis.call('GET', ARGV[1] .. key) or '', '^[^:]*:[^:]*:([^:]*):')
  if number and tonumber(number) < tonumber(ARGV[2]) then redis.call('DEL', ARGV[1] .. key) end
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[2])
return 0
`

/** Frees the idempotency keys of submissions that concern these identity keys and were accepted before `number`. */
export const freeIdempotencyKeys = async (
  redis: RedisClient,
  prefix: string,
  { workspaceId, keyIds, number }: { workspaceId: string; keyIds: readonly string[]; number: number },
): Promise<void> => {
  const name = admissionKeys(prefix, workspaceId)
  await Promise.all(keyIds.map((id) => redis.eval(FREE, 1, name.concerned(id), name.before.idempotency, number)))
}
