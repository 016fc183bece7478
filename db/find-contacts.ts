import type { HashKey } from './contract/own-id.ts'
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
          where workspace_id = ${workspaceId} and keys && ${[keys.group, keys.email].filter((key) => key !== null)}::uuid[]
          limit 1`,
      ]),
      timeoutMs,
    )
    return matches || dead.length > 0
  }

/** Stored contacts that a purge would concern at this moment, by own id. */
export const findContacts = async (
  sql: Sql,
  hashKey: HashKey,
  { workspaceId, ...wanted }: PurgeRequest & { workspaceId: string },
): Promise<string[]> => {
  const { group, email } = purgeKeys(hashKey, { workspaceId, body: wanted })
  const rows = await sql<{ id: string }[]>`
    select matching_contacts(
      ${workspaceId}, ${group}::uuid, id_at(${workspaceId}, ${email}::uuid, 9223372036854775807), ${wanted.source ?? null}) as id`
  return rows.map(({ id }) => id)
}
