import { canonicalEmail } from '../../contract/identity/canonical.ts'
import { choosePurged, type PurgeCandidate } from '../../contract/identity/choose-purged.ts'
import { contactIdKey, emailKey, type HashKey, idOfEpoch, type Realm } from '../../contract/identity/own-id.ts'
import type { PurgeRequest } from '../../contract/purge-request.ts'
import type { PurgeIdentifiers } from '../../contract/receipt.ts'
import type { SubmissionOf } from '../../contract/submission.ts'
import type { Sql } from '../connection/postgres.ts'

/** The stored data about a purge request. */
type LoadedPurge = {
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

/**
 * `decided`: the contacts and their keys are removed, and records are to be removed. `unmatched`:
 * it matched nothing. `busy`: another worker has moved the position, or the workspace is deleted.
 */
export type PurgeOutcome = 'decided' | 'unmatched' | 'busy'

/**
 * Decides a purge in its place in the log, and moves the position. All earlier submissions are
 * applied, and records of merged contacts are moved.
 */
export const decidePurge = async (
  { sql, hashKey }: { sql: Sql; hashKey: HashKey },
  { workspaceId, submissionId, number, originalNumber, body, idempotency }: SubmissionOf<'purge_contact'>,
  position: number,
): Promise<PurgeOutcome> => {
  const realm = { hashKey, workspaceId }
  const loaded = await loadPurge(sql, realm, body)
  if (loaded?.position !== position) return 'busy'
  const chosen = choosePurged(realm, body, loaded.candidates)
  const purge = {
    id: submissionId,
    number,
    acceptanceNumber: originalNumber ?? number,
    identifiers: identifiersOf(realm, body),
    idempotencyKey: idempotency?.key ?? null,
    bodyHash: idempotency?.body ?? null,
  }
  const [row] = await sql<[{ outcome: PurgeOutcome }]>`
    select decide_purge(
      ${workspaceId}::uuid, ${position}::bigint, ${sql.json(purge)}, ${chosen.contactIds}::uuid[],
      ${chosen.endedKeys}::uuid[], ${chosen.keys}::uuid[], ${chosen.formerKeys}::uuid[], ${loaded.idKey}::uuid,
      ${loaded.waitingKey}::uuid
    ) as outcome`
  return row.outcome
}

const identifiersOf = (realm: Realm, { id, email }: PurgeRequest): PurgeIdentifiers => {
  const address = canonicalEmail(email ?? '')
  return {
    id: id == null ? null : contactIdKey(realm, id),
    email: address === undefined ? null : emailKey(realm, address),
  }
}
