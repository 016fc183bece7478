import {
  canonicalEmail,
  contactIdKey,
  emailKey,
  type HashKey,
  idOfEpoch,
  ownId,
  type Realm,
  recordContactKey,
} from '../../contract/identity/keys.ts'
import type { Deletion } from '../../contract/correction.ts'
import { choosePurged, type PurgeCandidate } from '../../contract/identity/purge-keys.ts'
import type { PurgeRequest } from '../../contract/purge-request.ts'
import type { PurgeIdentifiers } from '../../contract/receipt.ts'
import { numberAtAcceptance, type Removal } from '../../contract/submission.ts'
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

/** What a removal takes, as of a position of the workspace. */
type FoundRemoval = ReturnType<typeof choosePurged> &
  Pick<LoadedPurge, 'position' | 'idKey' | 'waitingKey'> & {
    feedbackIds: string[]
    identifiers: PurgeIdentifiers | null
  }

/**
 * Decides a purge or a deletion in its place in the log, and moves the position. Before the call, all
 * earlier submissions must be applied, and the records of merged contacts moved.
 */
export const decidePurge = async (
  { sql, hashKey }: { sql: Sql; hashKey: HashKey },
  submission: Removal,
  position: number,
): Promise<PurgeOutcome> => {
  const { workspaceId, submissionId, number, operation, body, idempotency } = submission
  const realm = { hashKey, workspaceId }
  const found = await (operation === 'delete_feedback' ? findDeletion(sql, realm, body) : findPurge(sql, realm, body))
  if (found?.position !== position) return 'busy'
  const purge = {
    id: submissionId,
    number,
    acceptanceNumber: numberAtAcceptance(submission),
    operation,
    identifiers: found.identifiers,
    idempotencyKey: idempotency?.key ?? null,
    bodyHash: idempotency?.body ?? null,
  }
  const [row] = await sql<[{ outcome: PurgeOutcome }]>`
    select decide_purge(
      ${workspaceId}::uuid, ${position}::bigint, ${sql.json(purge)}::jsonb, ${found.contactIds}::uuid[],
      ${found.endedKeys}::uuid[], ${found.keys}::uuid[], ${found.formerKeys}::uuid[], ${found.idKey}::uuid,
      ${found.waitingKey}::uuid, ${found.feedbackIds}::uuid[]
    ) as outcome`
  return row.outcome
}

const findPurge = async (sql: Sql, realm: Realm, body: PurgeRequest): Promise<FoundRemoval | undefined> => {
  const loaded = await loadPurge(sql, realm, body)
  if (loaded === undefined) return undefined
  const chosen = choosePurged(realm, body, loaded.candidates)
  return { ...loaded, ...chosen, feedbackIds: [], identifiers: identifiersOf(realm, body) }
}

type DeletedRow = { position: number; isStored: boolean; source: string; sourceId: string | null; hasContact: boolean }

/**
 * A feedback, and the contact that belongs to it alone unless other feedback names this contact. The
 * key of the feedback ends, so the same `sourceId` later gets another id.
 */
const findDeletion = async (sql: Sql, realm: Realm, { id }: Deletion): Promise<FoundRemoval | undefined> => {
  const contactId = recordContactKey(realm, id)
  const [row] = await sql<DeletedRow[]>`
    select g.applied_number::float8 as position, f.id is not null as "isStored", f.source, f.source_id as "sourceId",
      exists (select from contact as c where c.workspace_id = ${realm.workspaceId} and c.id = ${contactId}) and not exists (
        select from feedback as o where o.workspace_id = ${realm.workspaceId} and o.contact_id = ${contactId} and o.id <> ${id}
      ) as "hasContact"
    from workspace_progress as g
    left join feedback as f on f.workspace_id = g.workspace_id and f.id = ${id}
    where g.workspace_id = ${realm.workspaceId}`
  if (row === undefined) return undefined
  const { position, isStored, source, sourceId, hasContact } = row
  const key = sourceId === null ? id : ownId(realm, 'feedback', source, sourceId)
  return {
    position,
    contactIds: isStored && hasContact ? [contactId] : [],
    endedKeys: isStored ? [key] : [],
    keys: isStored ? [...new Set([id, key])] : [id],
    formerKeys: [],
    idKey: null,
    waitingKey: null,
    feedbackIds: isStored ? [id] : [],
    identifiers: null,
  }
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
