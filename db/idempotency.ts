import { admissionKeys } from './admission-keys.ts'
import type { RedisClient } from './redis.ts'

/** Keyed hashes of an `Idempotency-Key` and of the body that came with it. */
export type Idempotency = { key: string; body: string }

export const IDEMPOTENCY_SECONDS = 24 * 60 * 60

// KEYS the set of records that concern a key. ARGV number. Frees those of submissions that were accepted before it.
const FREE = `
for _, name in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  local number = string.match(redis.call('GET', name) or '', '^[^:]*:[^:]*:([^:]*):')
  if number and tonumber(number) < tonumber(ARGV[1]) then redis.call('DEL', name) end
  if not number or tonumber(number) < tonumber(ARGV[1]) then redis.call('SREM', KEYS[1], name) end
end
return 0
`

/** Frees the idempotency keys of submissions that concern these identity keys and were accepted before `number`. */
export const freeIdempotencyKeys = async (
  redis: RedisClient,
  prefix: string,
  { workspaceId, keyIds, number }: { workspaceId: string; keyIds: readonly string[]; number: number },
): Promise<void> => {
  const name = admissionKeys(prefix, workspaceId)
  await Promise.all(keyIds.map((id) => redis.eval(FREE, 1, name.idempotencyOf(id), number)))
}
