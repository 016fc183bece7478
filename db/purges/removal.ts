import type { RemovalJob } from '../../contract/jobs.ts'
import type { Sql } from '../connection/postgres.ts'
import { sourcedContacts } from '../../contract/conversation-record.ts'
import { keysOfContact, type NamedKey, contactIdInAnySource } from '../../contract/identity/named-keys.ts'
import { contactKeys, namedKeys } from '../../contract/identity/purge-keys.ts'
import type { Realm } from '../../contract/identity/keys.ts'
import type { Removal, Submission, SubmissionOf } from '../../contract/submission.ts'

/**
 * A step removes about this many records. It holds the lock of the workspace. Most of its time goes
 * into the tag memory, from which it subtracts the shares of the records.
 */
export const RECORDS_PER_STEP = 250

/**
 * A decided purge. `keys`: the keys to look for in dead submissions. `subjectIds`: the subjects of
 * the submissions whose idempotency keys it frees.
 */
type PurgeUnderWay = { number: number; operation: Removal['operation']; keys: string[]; subjectIds: string[] }

/** Undefined once the purge is finished. */
export const findPurge = async (sql: Sql, { workspaceId, purgeId }: RemovalJob): Promise<PurgeUnderWay | undefined> => {
  const [purge] = await sql<PurgeUnderWay[]>`
    select number::float8 as number, keys, contact_ids || subject_ids || id as "subjectIds",
      case when cardinality(feedback_ids) > 0 then 'delete_feedback' else 'purge_contact' end as operation
    from purge where workspace_id = ${workspaceId} and id = ${purgeId}`
  return purge
}

/**
 * Removes the records of a decided purge in bounded steps, which can be repeated after a crash.
 * `onProgress` gets the number of records removed so far.
 */
export const removeRecords = async (
  sql: Sql,
  { workspaceId, purgeId }: RemovalJob,
  onProgress: (removed: number) => Promise<void>,
): Promise<void> => {
  for (let removed = 0; ; await onProgress(removed)) {
    const [step] = await sql<[{ removed: number }]>`
      select purge_step(${workspaceId}::uuid, ${purgeId}::uuid, ${RECORDS_PER_STEP}::int) as removed`
    if (step.removed === 0) return
    removed += step.removed
  }
}

/** The number of rows that a purge removed, by table. */
export type PurgeCounts = Record<'contacts' | 'feedback' | 'messages' | 'conversations' | 'deadSubmissions', number>

/**
 * Completes the receipt of a purge whose records are removed. Returns undefined if it was complete
 * before, or if the workspace is deleted.
 */
export const finishPurge = async (
  sql: Sql,
  { workspaceId, purgeId, attempts }: RemovalJob & { attempts: number },
): Promise<PurgeCounts | undefined> => {
  const [finished] = await sql<[{ removed: PurgeCounts | null }]>`
    select finish_purge(${workspaceId}::uuid, ${purgeId}::uuid, ${attempts}::int) as removed`
  return finished.removed ?? undefined
}

/**
 * `underWay`: purges whose records are being removed. `purgedKeys`: keys with at least one purge.
 */
export type PurgeTotals = { underWay: number; purgedKeys: number }

export const countPurges = async (sql: Sql): Promise<PurgeTotals> => {
  const [row] = await sql<PurgeTotals[]>`
    select (select count(*) from purge)::float8 as "underWay", (select count(*) from purged_key)::float8 as "purgedKeys"`
  return row!
}

/** The purges under way that were accepted more than `olderThanMs` ago. */
export const listPurgesUnderWay = (sql: Sql, { olderThanMs }: { olderThanMs: number }): Promise<RemovalJob[]> =>
  sql<RemovalJob[]>`
    select p.workspace_id as "workspaceId", p.id as "purgeId" from purge as p
    where p.number <= (extract(epoch from now()) * 1000000 - ${olderThanMs}::float8 * 1000)::bigint
      and not exists (select from deleted_workspace as w where w.id = p.workspace_id)
    order by p.number`.execute()

/** The ids of the given purges that are under way. */
export const findPurgesUnderWay = async (sql: Sql, workspaceId: string, ids: readonly string[]): Promise<string[]> => {
  const rows = await sql<{ id: string }[]>`
    select id from purge where workspace_id = ${workspaceId} and id = any (${[...ids]}::uuid[])`
  return rows.map(({ id }) => id)
}

type Purge = { purgeId: string; number: number; keys: readonly string[] }

/**
 * Removes the contacts of a purge from the dead submissions that were accepted before the purge: a
 * whole submission, or the contact's part of a conversation with other contacts. Repeating it
 * changes nothing.
 */
export const purgeDead = async (sql: Sql, realm: Realm, { purgeId, number, keys }: Purge): Promise<void> => {
  const { workspaceId } = realm
  const dead = await sql<{ id: string; submission: string }[]>`
    select d.id, d.submission from dead_submission as d
    join submission as s on s.workspace_id = d.workspace_id and s.id = d.id
    where d.workspace_id = ${workspaceId} and d.keys && ${[...keys]}::uuid[] and s.acceptance_number < ${number}`
  const gone = new Set(keys)
  for (const { id, submission } of dead) {
    const left = withoutContacts(realm, JSON.parse(submission) as Submission, gone)
    const kept = left === undefined ? null : { submission: JSON.stringify(left), keys: namedKeys(realm, left) }
    await sql`
      select purge_dead(${workspaceId}::uuid, ${purgeId}::uuid, ${id}::uuid, ${kept === null ? null : sql.json(kept)}::jsonb)`
  }
}

/** The rest of a submission. Undefined if nothing is left. */
export const withoutContacts = (
  realm: Realm,
  submission: Submission,
  gone: ReadonlySet<string>,
): Submission | undefined => {
  switch (submission.operation) {
    case 'submit_conversation':
      return conversationWithout(realm, submission, gone)
    case 'create_feedback':
    case 'correct_feedback':
    case 'delete_feedback':
    case 'create_theme':
    case 'edit_theme':
    case 'identify_contact':
    case 'purge_contact':
      return undefined
    case 'identify_account':
      return submission
  }
}

const conversationWithout = (
  realm: Realm,
  submission: SubmissionOf<'submit_conversation'>,
  gone: ReadonlySet<string>,
): SubmissionOf<'submit_conversation'> | undefined => {
  const { contacts, messages, source } = submission.body
  const isGone = (names: readonly NamedKey[]): boolean =>
    names.some((name) => contactKeys(realm, name).some((key) => gone.has(key)))
  const sourced = sourcedContacts(submission.body)
  const left = contacts.filter((_, at) => !isGone(keysOfContact(sourced[at]!, source)))
  const present = new Set(left.map(({ id }) => id))
  const removed = new Set(contacts.map(({ id }) => id)).difference(present)
  const isTheirs = (id: string): boolean =>
    removed.has(id) || (!present.has(id) && isGone([contactIdInAnySource(id, source)]))
  const others = messages.filter(({ contactId }) => contactId === undefined || !isTheirs(contactId))
  if (left.length === 0 && others.every(({ contactId }) => contactId === undefined)) return undefined
  return { ...submission, body: { ...submission.body, contacts: left, messages: others } }
}
