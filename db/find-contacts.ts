import type { HashKey, Realm } from './contract/own-id.ts'
import type { PurgeRequest } from './contract/purge-request.ts'
import type { Sql } from './postgres.ts'
import { purgeKeys } from './purge.ts'
import { type Identity, matchesWithQueued } from './queued-identity.ts'
import { withinTime } from './within-time.ts'

export type MatchesPurge = (workspaceId: string, wanted: PurgeRequest) => Promise<boolean>

/**
 * Tells whether a purge would concern anything: a contact, stored or queued, an external id that a record remembers, or a dead
 * submission.
 *
 * @throws when Redis or Postgres does not answer in time.
 */
export const purgeMatcher =
  (identity: Identity, { hashKey, timeoutMs }: { hashKey: HashKey; timeoutMs: number }): MatchesPurge =>
  async (workspaceId, { id, email, source }) => {
    const keys = purgeKeys(hashKey, { workspaceId, body: { id, email } })
    const wanted = { ...keys, source: source ?? null }
    const [matches, dead] = await withinTime(
      Promise.all([
        matchesWithQueued(identity, workspaceId, wanted),
        identity.sql`
          select from dead_submission
          where workspace_id is not distinct from ${workspaceId} and keys && ${[keys.group, keys.email].filter((key) => key !== null)}::uuid[]
          limit 1`,
      ]),
      timeoutMs,
    )
    return matches || dead.length > 0
  }

/** `contactIds`: contacts by own id; `externalGroup`: the external id asked for, if a record remembers it and nobody has it. */
export type FoundContacts = { contactIds: string[]; externalGroup: string | null }

/** Whom, of what is stored, a purge would concern at this moment. */
export const findContacts = async (
  sql: Sql,
  { hashKey, workspaceId }: Realm,
  wanted: PurgeRequest,
): Promise<FoundContacts> => {
  const { group, email } = purgeKeys(hashKey, { workspaceId, body: wanted })
  const [found] = await sql<[FoundContacts]>`
    select
      array(
        select matching_contacts(
          ${workspaceId}, ${group}::uuid, id_at(${workspaceId}, ${email}::uuid, 9223372036854775807), ${wanted.source ?? null})
      ) as "contactIds",
      case when is_remembered(${workspaceId}, ${group}::uuid) then ${group}::uuid end as "externalGroup"`
  return found
}
