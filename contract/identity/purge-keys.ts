import type { PurgeRequest } from '../purge-request.ts'
import { DEFAULT_SOURCE, type FeedbackRecord, feedbackSource } from '../feedback-record.ts'
import {
  asUuid,
  canonicalEmail,
  contactIdKey,
  contactSourceKey,
  emailKey,
  idOfEpoch,
  ownId,
  type Realm,
} from './keys.ts'
import type { ContactRecord } from '../contact-record.ts'
import { type ConversationRecord, sourcedContacts } from '../conversation-record.ts'
import type { Submission } from '../submission.ts'

/** A contact that a purge could match. */
export type PurgeCandidate = {
  id: string
  /** The email in the column of the contact. */
  email: string | null
  /** Whether the email in the request means this contact. */
  isMeant: boolean
  /** `epoch`: of the id in all sources. `holders`: the contacts with this id, in any source. */
  externalIds: readonly { source: string; externalId: string; epoch: number; holders: readonly string[] }[]
  /** `email` is in canonical form. `holders`: the contacts that the email means or meant. */
  emails: readonly { email: string; holders: readonly string[] }[]
}

type PurgedContacts = {
  contactIds: string[]
  /**
   * The keys whose epochs rise, since the purge removes every contact that has them. The key of an
   * external id for all sources is among them if no other contact has the id. By this key,
   * `raise_purged_keys` finds records that wait in a restored backup.
   */
  endedKeys: string[]
  /**
   * Keys to look for in dead submissions: those of the request, and those of the contacts, except
   * keys that other contacts have, too.
   */
  keys: string[]
  /** Keys that records waited for until a contact got them. */
  formerKeys: string[]
}

/**
 * The candidates that a purge matches: by external id, by email, or by both. An email matches the
 * contact that it means, and each contact with this email in its column. If the request has a
 * source, a match needs an external id in that source. By email, a contact without external ids
 * matches the source `API`. A match includes all keys of the contact.
 */
export const choosePurged = (
  realm: Realm,
  wanted: PurgeRequest,
  candidates: readonly PurgeCandidate[],
): PurgedContacts => {
  const gone = candidates.filter((candidate) => hasId(candidate, wanted) || hasEmail(candidate, wanted))
  const contactIds = gone.map(({ id }) => id)
  const areGone = ({ holders }: { holders: readonly string[] }): boolean =>
    holders.length > 0 && holders.every((id) => contactIds.includes(id))
  const externalIds = gone.flatMap((contact) => contact.externalIds)
  const sourceKeys = externalIds.map(({ source, externalId }) => contactSourceKey(realm, source, externalId))
  const freedIds = externalIds.filter(areGone)
  const freedEmails = gone.flatMap((contact) => contact.emails).filter(areGone)
  const emails = freedEmails.map(({ email }) => emailKey(realm, email))
  const idKeys = freedIds.map(({ externalId }) => contactIdKey(realm, externalId))
  return {
    contactIds,
    endedKeys: unique([...sourceKeys, ...emails, ...idKeys]),
    keys: unique([
      ...purgeKeys(realm, wanted),
      ...sourceKeys,
      ...emails,
      ...freedIds.map(({ externalId }) => openIdKey(realm, externalId)),
    ]),
    formerKeys: unique(freedIds.map(({ externalId, epoch }) => idOfEpoch(contactIdKey(realm, externalId), epoch))),
  }
}

const unique = (keys: readonly string[]): string[] => [...new Set(keys)]

const hasId = ({ externalIds }: PurgeCandidate, { id, source }: PurgeRequest): boolean =>
  externalIds.some((held) => held.externalId === id && (source == null || held.source === source))

const hasEmail = (candidate: PurgeCandidate, wanted: PurgeRequest): boolean => {
  const email = canonicalEmail(wanted.email ?? '')
  if (email === undefined || !candidate.emails.some((held) => held.email === email)) return false
  return (candidate.isMeant || canonicalEmail(candidate.email ?? '') === email) && isInSource(candidate, wanted.source)
}

const isInSource = ({ externalIds }: PurgeCandidate, source: string | null | undefined): boolean =>
  source == null ||
  externalIds.some((held) => held.source === source) ||
  (externalIds.length === 0 && source === DEFAULT_SOURCE)

// Keys by which a submission or a purge names contacts. Comparing them tells whether a purge
// concerns a submission. All are of epoch 0, except own ids that a feedback names.

/** All keys by which a submission names contacts, without resolving them. */
export const namedKeys = (realm: Realm, submission: Submission): string[] => {
  switch (submission.operation) {
    case 'create_feedback':
      return keysInFeedback(realm, submission.body)
    case 'identify_contact':
      return keysOfContact(realm, submission.body, DEFAULT_SOURCE)
    case 'submit_conversation':
      return keysInConversation(realm, submission.body)
    case 'purge_contact':
      return purgeKeys(realm, submission.body)
    case 'identify_account':
      return []
  }
}

const keysInFeedback = (realm: Realm, body: FeedbackRecord): string[] => {
  const ids = [body.contactId, body.contact?.id].filter((id) => id != null)
  const keys = body.isExternalContactId
    ? ids.flatMap((id) => keysOfExternalId(realm, id, feedbackSource(body)))
    : ids.flatMap((id) => asUuid(id) ?? [])
  return unique([...keys, ...keysOfEmail(realm, body.contact?.email)])
}

const keysInConversation = (realm: Realm, body: ConversationRecord): string[] => {
  const contacts = sourcedContacts(body)
  const identified = new Set(contacts.map(({ id }) => id))
  const senders = new Set(body.messages.flatMap(({ contactId }) => contactId ?? []))
  return unique([
    ...contacts.flatMap((contact) => keysOfContact(realm, contact, body.source)),
    ...[...senders.difference(identified)].flatMap((id) => keysOfExternalId(realm, id, body.source)),
  ])
}

/**
 * The keys of the contact that a record identifies. `defaultSource`: the source of a record
 * without one.
 */
export const keysOfContact = (realm: Realm, record: ContactRecord, defaultSource: string): string[] => {
  const { id, source } = record
  const given = record.properties?.['$email']
  return [
    ...(source == null
      ? keysOfExternalId(realm, id, defaultSource)
      : [contactSourceKey(realm, source, id), contactIdKey(realm, id)]),
    ...keysOfEmail(realm, typeof given === 'string' ? given : undefined),
  ]
}

/**
 * The keys of an external id without a source. Such an id can mean a contact of `source`, or of any
 * other source.
 */
export const keysOfExternalId = (realm: Realm, id: string, source: string): string[] => [
  contactSourceKey(realm, source, id),
  contactIdKey(realm, id),
  openIdKey(realm, id),
]

/**
 * The key of a reference that names no source. A purge looks for this key only if no contact with
 * the external id is left.
 */
export const openIdKey = (realm: Realm, id: string): string => ownId(realm, 'contact_bare', id, 'open')

const keysOfEmail = (realm: Realm, given: string | null | undefined): string[] => {
  const email = canonicalEmail(given ?? '')
  return email === undefined ? [] : [emailKey(realm, email)]
}

/**
 * The keys of a purge request. Without a source, the request means every use of its external id;
 * with a source, only the id in that source.
 */
export const purgeKeys = (realm: Realm, { id, email, source }: PurgeRequest): string[] => [
  ...(id == null ? [] : [source == null ? contactIdKey(realm, id) : contactSourceKey(realm, source, id)]),
  ...keysOfEmail(realm, email),
]
