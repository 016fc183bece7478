import type { RedisClient } from './redis.ts'
import { admissionKeys } from './admission-keys.ts'
import type { KeyOfId } from '../contract/identity/contact-register.ts'

/** Longer than anything stays queued; once it is stored, the row of the id tells the same. */
const KEPT_SECONDS = 7 * 24 * 60 * 60

export type Aliases = {
  findAlias: (workspaceId: string, ownId: string) => Promise<KeyOfId | null>
  keepAlias: (workspaceId: string, ownId: string, of: KeyOfId) => Promise<void>
}

/** Which key an own id is of, of ids that were answered while the purge that made the key start afresh was queued. */
export const aliasesIn = (redis: RedisClient, prefix: string): Aliases => ({
  findAlias: async (workspaceId, ownId) => {
    const kept = await redis.get(admissionKeys(prefix, workspaceId).alias(ownId))
    return kept === null ? null : (JSON.parse(kept) as KeyOfId)
  },
  keepAlias: async (workspaceId, ownId, of) => {
    await redis.set(admissionKeys(prefix, workspaceId).alias(ownId), JSON.stringify(of), 'EX', KEPT_SECONDS)
  },
})
