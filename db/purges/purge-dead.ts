import { sourcedContacts } from '../../contract/conversation-record.ts'
import {
  keysOf,
  type Names,
  namesIn,
  namesInPurge,
  namesOfContact,
  namesOfExternalId,
} from '../../contract/identity/names.ts'
import type { HashKey, Realm } from '../../contract/identity/own-id.ts'
import { type JobOf, parseJob, type SubmissionJob } from '../../contract/job.ts'
import type { Sql } from '../postgres.ts'

/** A decided purge. `keys` are hashes of everything by which its contacts could be meant, `contactIds` their own ids. */
type Decided = { job: JobOf<'purge_contact'>; keys: readonly string[]; contactIds: readonly string[] }

/**
 * Removes what concerns the contacts of a purge from the dead submissions that were accepted before it: a whole submission, or the
 * contact's part of a conversation with others. Repeating it changes nothing.
 */
export const purgeDead = async (sql: Sql, hashKey: HashKey, decided: Decided): Promise<void> => {
  const { workspaceId, submissionId: purgeId, number } = decided.job
  const dead = await sql<{ id: string; job: string }[]>`
    select d.id, d.job from dead_submission as d
    join submission as s on s.workspace_id = d.workspace_id and s.id = d.id
    where d.workspace_id is not distinct from ${workspaceId} and s.acceptance_number < ${number}
      and d.keys && ${[...decided.keys, ...decided.contactIds]}::uuid[]`
  if (dead.length === 0) return
  const realm = { hashKey, workspaceId }
  const asked = namesInPurge(realm, decided.job.body)
  const gone = {
    keys: new Set([...decided.keys, ...decided.contactIds, ...asked.exact]),
    asked: new Set(asked.anySource),
    others: await groupsOfOthers(sql, workspaceId, decided.keys),
  }
  for (const { id, job } of dead) {
    const parsed = parseJob(job)
    const left = parsed ? withoutContacts(realm, parsed, gone) : undefined
    const kept = left === undefined ? null : { job: JSON.stringify(left), keys: keysOf(namesIn(realm, left)) }
    await sql`select purge_dead(${workspaceId}, ${purgeId}, ${id}, ${kept === null ? null : sql.json(kept)})`
  }
}

/** The external ids (groups) that the purge ended in one source and that somebody has in another. */
const groupsOfOthers = async (sql: Sql, workspaceId: string, keys: readonly string[]): Promise<ReadonlySet<string>> => {
  const rows = await sql<{ group: string }[]>`
    select distinct group_id as "group" from identity_key
    where workspace_id is not distinct from ${workspaceId} and group_id = any (${keys}::uuid[]) and kind = 'contact_external'
      and exists_from is not null`
  return new Set(rows.map(({ group }) => group))
}

/** Whom the purge ended, and the external ids that others have still. */
type Gone = {
  keys: ReadonlySet<string>
  /** External ids (groups) that the purge asked for in all sources. */
  asked: ReadonlySet<string>
  others: ReadonlySet<string>
}

/**
 * Whether names are of a contact that the purge ended. An external id whose source is left open is of such a contact unless
 * somebody else has it in another source.
 */
const isGone = ({ exact, anySource, oneSource }: Names, { keys, asked, others }: Gone): boolean =>
  exact.some((key) => keys.has(key)) ||
  anySource.some((group) => asked.has(group) || (keys.has(group) && !others.has(group))) ||
  oneSource.some((group) => asked.has(group))

/** What is left of a submission. Undefined when nothing is left. */
const withoutContacts = (realm: Realm, job: SubmissionJob, gone: Gone): SubmissionJob | undefined => {
  switch (job.operation) {
    case 'create_feedback':
    case 'identify_contact':
      return isGone(namesIn(realm, job), gone) ? undefined : job
    case 'submit_conversation':
      return conversationWithout(realm, job, gone)
    case 'identify_account':
      return job
    case 'purge_contact':
      return undefined
  }
}

const conversationWithout = (
  realm: Realm,
  job: JobOf<'submit_conversation'>,
  gone: Gone,
): JobOf<'submit_conversation'> | undefined => {
  const { contacts, messages, source } = job.body
  const names = sourcedContacts(job.body).map((contact) => namesOfContact(realm, contact, source))
  const left = contacts.filter((_, at) => !isGone(names[at]!, gone))
  const present = new Set(left.map(({ id }) => id))
  const removed = new Set(contacts.map(({ id }) => id)).difference(present)
  const isTheirs = (id: string): boolean =>
    removed.has(id) || (!present.has(id) && isGone(namesOfExternalId(realm, id, source), gone))
  const others = messages.filter(({ contactId }) => contactId === undefined || !isTheirs(contactId))
  if (left.length === 0 && others.every(({ contactId }) => contactId === undefined)) return undefined
  return { ...job, body: { ...job.body, contacts: left, messages: others } }
}
