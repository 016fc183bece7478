import type { KeyOfId } from '../contract/identity/contact-register.ts'
import type { RedisClient } from './connect-redis.ts'
import { admissionKeys } from './keys.ts'

/** Longer than anything stays queued; once the id is stored, its row says the same. */
const KEPT_SECONDS = 7 * 24 * 60 * 60

type Aliases = {
  findAlias: (workspaceId: string, ownId: string) => Promise<KeyOfId | null>
  keepAlias: (workspaceId: string, ownId: string, of: KeyOfId) => Promise<void>
}

/** The keys of own ids that were answered while the purge was queued after which the key starts afresh. */
export const aliasesIn = (redis: RedisClient, prefix: string): Aliases => ({
  findAlias: async (workspaceId, ownId) => {
    const kept = await redis.get(admissionKeys(prefix, workspaceId).alias(ownId))
    return kept === null ? null : (JSON.parse(kept) as KeyOfId)
  },
  keepAlias: async (workspaceId, ownId, of) => {
    await redis.set(admissionKeys(prefix, workspaceId).alias(ownId), JSON.stringify(of), 'EX', KEPT_SECONDS)
  },
})
