import type { ContactRecord } from '../contact-record.ts'
import { type ConversationRecord, sourcedContacts } from '../conversation-record.ts'
import { DEFAULT_SOURCE, type FeedbackRecord, feedbackSource } from '../feedback-record.ts'
import type { PurgeRequest } from '../purge-request.ts'
import type { Submission } from '../submission.ts'
import { canonicalEmail } from './canonical.ts'
import { asOwnId, contactIdKey, contactSourceKey, emailKey, ownId, type Realm } from './own-id.ts'

// Keys by which a submission or a purge names contacts. Comparing them tells whether a purge
// concerns a submission. All keys have epoch 0.

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
    : ids.flatMap((id) => asOwnId(id) ?? [])
  return [...new Set([...keys, ...keysOfEmail(realm, body.contact?.email)])]
}

const keysInConversation = (realm: Realm, body: ConversationRecord): string[] => {
  const contacts = sourcedContacts(body)
  const identified = new Set(contacts.map(({ id }) => id))
  const senders = new Set(body.messages.flatMap(({ contactId }) => contactId ?? []))
  return [
    ...new Set([
      ...contacts.flatMap((contact) => keysOfContact(realm, contact, body.source)),
      ...[...senders.difference(identified)].flatMap((id) => keysOfExternalId(realm, id, body.source)),
    ]),
  ]
}

/**
 * The keys of the contact that a record identifies. `homeSource`: the source of a record without
 * one.
 */
export const keysOfContact = (realm: Realm, record: ContactRecord, homeSource: string): string[] => {
  const { id, source } = record
  const given = record.properties?.['$email']
  return [
    ...(source == null
      ? keysOfExternalId(realm, id, homeSource)
      : [contactSourceKey(realm, source, id), contactIdKey(realm, id)]),
    ...keysOfEmail(realm, typeof given === 'string' ? given : undefined),
  ]
}

/**
 * The keys of an external id without a source: its contact is looked up in the record's source
 * first, then in all sources.
 */
export const keysOfExternalId = (realm: Realm, id: string, source: string): string[] => [
  contactSourceKey(realm, source, id),
  contactIdKey(realm, id),
  openIdKey(realm, id),
]

/** The key of an external id without a source. */
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
