import {
  canonicalEmail,
  contactIdKey,
  emailKey,
  type HashKey,
  idOfEpoch,
  type Realm,
} from '../../contract/identity/keys.ts'
import { choosePurged, type PurgeCandidate } from '../../contract/identity/purge-keys.ts'
import type { PurgeRequest } from '../../contract/purge-request.ts'
import type { PurgeIdentifiers } from '../../contract/receipt.ts'
import { numberAtAcceptance, type SubmissionOf } from '../../contract/submission.ts'
import type { Sql } from '../connection/postgres.ts'

/** The stored data about a purge request. */
type LoadedPurge = {
  position: number
  candidates: PurgeCandidate[]
  /**
   * The key of the requested external id for all sources. `waitingKey` is this key in its epoch:
   * records without a contact wait for it.
   */
  idKey: string | null
  waitingKey: string | null
}

/** Returns undefined for a deleted workspace. */
const loadPurge = async (sql: Sql, realm: Realm, { id, email }: PurgeRequest): Promise<LoadedPurge | undefined> => {
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
 * `decided`: the purge matched contacts, waiting records or dead submissions. The contacts and their
 * keys are removed; the records are still to be removed. `unmatched`: the purge matched nothing.
 * `busy`: another worker has moved the position, or the workspace is deleted.
 */
type PurgeOutcome = 'decided' | 'unmatched' | 'busy'

/**
 * Decides a purge in its place in the log, and moves the position. Before the call, all earlier
 * submissions must be applied, and the records of merged contacts moved.
 */
export const decidePurge = async (
  { sql, hashKey }: { sql: Sql; hashKey: HashKey },
  submission: SubmissionOf<'purge_contact'>,
  position: number,
): Promise<PurgeOutcome> => {
  const { workspaceId, submissionId, number, body, idempotency } = submission
  const realm = { hashKey, workspaceId }
  const loaded = await loadPurge(sql, realm, body)
  if (loaded?.position !== position) return 'busy'
  const chosen = choosePurged(realm, body, loaded.candidates)
  const purge = {
    id: submissionId,
    number,
    acceptanceNumber: numberAtAcceptance(submission),
    identifiers: identifiersOf(realm, body),
    idempotencyKey: idempotency?.key ?? null,
    bodyHash: idempotency?.body ?? null,
  }
  const [row] = await sql<[{ outcome: PurgeOutcome }]>`
    select decide_purge(
      ${workspaceId}::uuid, ${position}::bigint, ${sql.json(purge)}::jsonb, ${chosen.contactIds}::uuid[],
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

/**
 * The contacts that a purge with the same identifiers would match. `waitingKey`: the key of the
 * requested external id, if records wait for it. `keys`: the requested keys, and those by which
 * submissions name the contacts.
 */
export type FoundContacts = { contactIds: string[]; waitingKey: string | null; keys: string[] }

/** The stored contacts that a purge would match now. */
export const findContacts = async (sql: Sql, realm: Realm, wanted: PurgeRequest): Promise<FoundContacts> => {
  const loaded = await loadPurge(sql, realm, wanted)
  const { contactIds, keys } = choosePurged(realm, wanted, loaded?.candidates ?? [])
  const [also] = await sql<[{ aliases: string[]; isWaitedFor: boolean }]>`
    select
      array(
        select a.id from unnest(${contactIds}::uuid[]) as c (id) cross join lateral (
          select k.id from contact_alias as k where k.workspace_id = ${realm.workspaceId} and k.contact_id = c.id offset 0
        ) as a
      ) as aliases,
      exists (
        select from unresolved
        where workspace_id = ${realm.workspaceId} and key_id = ${loaded?.waitingKey ?? null}::uuid and slot in ('c', 'm')
      ) as "isWaitedFor"`
  return {
    contactIds,
    waitingKey: also.isWaitedFor ? loaded!.waitingKey : null,
    keys: [...keys, ...contactIds, ...also.aliases],
  }
}

/**
 * Whether a purge would match stored data: a contact, a record that waits for its external id, or a
 * dead submission.
 */
export const canPurgeMatch = async (sql: Sql, realm: Realm, wanted: PurgeRequest): Promise<boolean> => {
  const { contactIds, waitingKey, keys } = await findContacts(sql, realm, wanted)
  if (contactIds.length > 0 || waitingKey !== null) return true
  const [dead] = await sql<[{ exists: boolean }]>`
    select exists (
      select from dead_submission where workspace_id = ${realm.workspaceId} and keys && ${keys}::uuid[]
    ) as exists`
  return dead.exists
}
