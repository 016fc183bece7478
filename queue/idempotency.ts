import type { RedisClient } from './connect-redis.ts'
import { admissionKeys } from './keys.ts'
import { luaScript } from './lua-script.ts'

/** Keyed hashes of an `Idempotency-Key` and of the body that came with it. */
export type Idempotency = { key: string; body: string }

export const IDEMPOTENCY_SECONDS = 24 * 60 * 60

const FREE = luaScript('free-idempotency-keys')

/** Frees the idempotency keys of submissions that concern these identity keys and were accepted before `number`. */
export const freeIdempotencyKeys = async (
  redis: RedisClient,
  prefix: string,
  { workspaceId, keyIds, number }: { workspaceId: string; keyIds: readonly string[]; number: number },
): Promise<void> => {
  const name = admissionKeys(prefix, workspaceId)
  await Promise.all(keyIds.map((id) => redis.eval(FREE, 1, name.concerned(id), name.before.idempotency, number)))
}
