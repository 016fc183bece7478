import { canonicalEmail } from '../../contract/identity/canonical.ts'
import type { PurgeCandidate } from '../../contract/identity/choose-purged.ts'
import { contactIdKey } from '../../contract/identity/keys.ts'
import { idOfEpoch, type Realm } from '../../contract/identity/own-id.ts'
import type { PurgeRequest } from '../../contract/purge-request.ts'
import type { Sql } from '../connection/postgres.ts'

/** The stored data about a purge request. */
export type LoadedPurge = {
  position: number
  candidates: PurgeCandidate[]
  /**
   * The external id of the request in all sources. `waitingKey` is the same in its epoch: records
   * without a contact wait for it.
   */
  idKey: string | null
  waitingKey: string | null
}

/** Returns undefined for a deleted workspace. */
export const loadPurge = async (
  sql: Sql,
  realm: Realm,
  { id, email }: PurgeRequest,
): Promise<LoadedPurge | undefined> => {
  const idKey = id == null ? null : contactIdKey(realm, id)
  const rows = await sql<{ position: number; epoch: number; contact: PurgeCandidate | null }[]>`
    select "position"::float8 as position, epoch, contact
    from load_purge(${realm.workspaceId}::uuid, ${idKey}::uuid, ${canonicalEmail(email ?? '') ?? null}::text)`
  const [first] = rows
  if (first === undefined) return undefined
  return {
    position: first.position,
    candidates: rows.flatMap(({ contact }) => contact ?? []),
    idKey,
    waitingKey: idKey === null ? null : idOfEpoch(idKey, first.epoch),
  }
}
