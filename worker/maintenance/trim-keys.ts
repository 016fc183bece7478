import { listWorkspaceIds } from '../../db/workspaces/workspaces.ts'
import { trimIdempotencyKeys } from '../../queue/admission/idempotency.ts'
import { redisCondition } from '../../queue/redis/redis-condition.ts'
import type { Service } from './service.ts'

/** Keeps the idempotency keys in Redis within their share of its memory. */
export const trimKeys: Service = {
  name: 'trim-keys',
  everyMs: 20_000,
  run: async ({ sql, redis, prefix }) => {
    const { maxBytes } = await redisCondition(redis)
    await trimIdempotencyKeys(redis, prefix, { workspaceIds: await listWorkspaceIds(sql), maxBytes, nowMs: Date.now() })
    return {}
  },
}
