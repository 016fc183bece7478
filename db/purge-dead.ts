import * as v from 'valibot'
import type { ContactRecord } from '../contract/contact-record.ts'
import { type JobOf, type SubmissionJob, submissionJob } from '../contract/job.ts'
import { comparableEmail, type HashKey, ownId, type Realm } from '../contract/identity/own-id.ts'
import { concernedKeys } from '../contract/identity/sayings.ts'
import { contactGroup, contactKey, feedbackReferences } from '../contract/identity/reference.ts'
import { DEFAULT_SOURCE, feedbackId, feedbackSource } from '../contract/stored-feedback.ts'
import type { Sql } from './postgres.ts'

/** A decided purge: hashes of everything that its contacts could be meant by, and their own ids. */
type Decided = { job: JobOf<'purge_contact'>; keys: readonly string[]; contactIds: readonly string[] }

/**
 * Removes from the dead submissions that were accepted before a purge what concerns its contacts: whole submissions, or of a
 * conversation with others the contact's part. Repeating it changes nothing.
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
  const others = await groupsOfOthers(sql, workspaceId, decided.keys)
  for (const { id, job } of dead) {
    const parsed = v.safeParse(submissionJob, JSON.parse(job))
    const left = parsed.success ? withoutContacts(realm, parsed.output, { ...decided, others }) : undefined
    const kept = left === undefined ? null : { job: JSON.stringify(left), keys: concernedKeys(realm, left) }
    await sql`select purge_dead(${workspaceId}, ${purgeId}, ${id}, ${kept === null ? null : sql.json(kept)})`
  }
}

/** Of the external ids (groups) that the purge ended in some source: those that somebody has in another. */
const groupsOfOthers = async (sql: Sql, workspaceId: string, keys: readonly string[]): Promise<ReadonlySet<string>> => {
  const rows = await sql<{ group: string }[]>`
    select distinct group_id as "group" from identity_key
    where workspace_id is not distinct from ${workspaceId} and group_id = any (${keys}::uuid[]) and kind = 'contact_external'
      and exists_from is not null`
  return new Set(rows.map(({ group }) => group))
}

type Gone = Decided & { others: ReadonlySet<string> }

/** What is left of a submission; undefined when nothing is. */
const withoutContacts = (realm: Realm, job: SubmissionJob, gone: Gone): SubmissionJob | undefined => {
  switch (job.operation) {
    case 'create_feedback':
      return isFeedbackOf(realm, job, gone) ? undefined : job
    case 'identify_contact':
      return isContact(realm, { record: job.body, homeSource: DEFAULT_SOURCE }, gone) ? undefined : job
    case 'submit_conversation':
      return conversationWithout(realm, job, gone)
    case 'identify_account':
      return job
    case 'purge_contact':
      return undefined
  }
}

const isFeedbackOf = (realm: Realm, { body, submissionId }: JobOf<'create_feedback'>, gone: Gone): boolean => {
  const recordId = feedbackId({ ...realm, submissionId }, body)
  const { contact } = feedbackReferences({ ...realm, number: 0, recordId }, body)
  if (contact?.weak !== undefined && gone.keys.includes(contact.weak)) return true
  if (contact?.own === true)
    return (contact.ids ?? []).some((id) => gone.contactIds.includes(id) || gone.keys.includes(id))
  const named = [body.contactId, body.contact?.id].filter((id) => id != null)
  return body.isExternalContactId && named.some((id) => isExternalId(realm, { id, source: feedbackSource(body) }, gone))
}

/** An external id without a source of its own is the purged contact's, unless somebody else has it in another source. */
const isExternalId = (
  realm: Realm,
  { id, source }: { id: string; source: string },
  { keys, others }: Gone,
): boolean => {
  const group = contactGroup(realm, id)
  return keys.includes(contactKey(realm, source, id)) || (keys.includes(group) && !others.has(group))
}

type Identified = { record: ContactRecord; homeSource: string }

const isContact = (realm: Realm, { record, homeSource }: Identified, gone: Gone): boolean => {
  const { body: wanted } = gone.job
  const source = record.source ?? homeSource
  const email = record.properties?.['$email']
  const comparable = typeof email === 'string' ? comparableEmail(email) : undefined
  return (
    gone.keys.includes(contactKey(realm, source, record.id)) ||
    (wanted.id === record.id && (wanted.source == null || wanted.source === source)) ||
    (record.source == null && isExternalId(realm, { id: record.id, source }, gone)) ||
    (comparable !== undefined && gone.keys.includes(ownId(realm, 'contact_email', comparable)))
  )
}

const conversationWithout = (
  realm: Realm,
  job: JobOf<'submit_conversation'>,
  gone: Gone,
): JobOf<'submit_conversation'> | undefined => {
  const { contacts, messages, source } = job.body
  const left = contacts.filter((record) => !isContact(realm, { record, homeSource: source }, gone))
  const removed = new Set(contacts.filter((record) => !left.includes(record)).map(({ id }) => id))
  for (const { id } of left) removed.delete(id)
  const present = new Set(left.map(({ id }) => id))
  const isTheirs = (id: string): boolean =>
    removed.has(id) || (!present.has(id) && isExternalId(realm, { id, source }, gone))
  const others = messages.filter(({ contactId }) => contactId === undefined || !isTheirs(contactId))
  if (left.length === 0 && others.every(({ contactId }) => contactId === undefined)) return undefined
  return { ...job, body: { ...job.body, contacts: left, messages: others } }
}
