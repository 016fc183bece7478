import type { HashKey } from '../contract/identity/own-id.ts'
import type { PurgeRequest } from '../contract/purge-request.ts'
import { isAnyDead } from '../db/identity/find-contacts.ts'
import { purgeKeys } from '../contract/identity/purge-keys.ts'
import { withinTime } from '../process/within-time.ts'
import { type Identity, matchesWithQueued } from './meaning-with-queued.ts'

export type MatchesPurge = (workspaceId: string, wanted: PurgeRequest) => Promise<boolean>

/**
 * Tells whether a purge would concern anything: a stored or queued contact, an external id that a record remembers, or a dead
 * submission.
 *
 * @throws when Redis or Postgres does not answer in time.
 */
export const purgeMatcher =
  (identity: Identity, { hashKey, timeoutMs }: { hashKey: HashKey; timeoutMs: number }): MatchesPurge =>
  async (workspaceId, { id, email, source }) => {
    const keys = purgeKeys({ hashKey, workspaceId }, { id, email })
    const wanted = { ...keys, source: source ?? null }
    const [matches, dead] = await withinTime(
      Promise.all([
        matchesWithQueued(identity, workspaceId, wanted),
        isAnyDead(
          identity.sql,
          workspaceId,
          [keys.group, keys.email].filter((key) => key !== null),
        ),
      ]),
      timeoutMs,
    )
    return matches || dead
  }
