import type { ContactRecord } from '../contact-record.ts'
import { type ConversationRecord, sourcedContacts } from '../conversation-record.ts'
import type { FeedbackRecord } from '../feedback-record.ts'
import type { PurgeRequest } from '../purge-request.ts'
import { DEFAULT_SOURCE, feedbackSource } from '../stored-feedback.ts'
import type { Submission } from '../submission.ts'
import { canonicalEmail } from './canonical.ts'
import { contactIdKey, contactSourceKey, emailKey } from './keys.ts'
import { asOwnId, ownId, type Realm } from './own-id.ts'

// By which keys a submission or a purge names contacts, for comparing one with the other. All are
// keys of epoch 0.

/**
 * All keys by which a submission names contacts. Which contacts they mean in the end is not looked
 * at.
 */
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
 * The keys by which a record names the contact that it identifies. `homeSource`: where one without
 * a source is created.
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
 * Of an external id whose source is left open: it is looked for in the source of its record first,
 * then in all.
 */
export const keysOfExternalId = (realm: Realm, id: string, source: string): string[] => [
  contactSourceKey(realm, source, id),
  contactIdKey(realm, id),
  openIdKey(realm, id),
]

/** An external id whose source is left open. */
export const openIdKey = (realm: Realm, id: string): string => ownId(realm, 'contact_bare', id, 'open')

const keysOfEmail = (realm: Realm, given: string | null | undefined): string[] => {
  const email = canonicalEmail(given ?? '')
  return email === undefined ? [] : [emailKey(realm, email)]
}

/**
 * The keys that a purge asks for. Without a source it asks for an external id however it is named;
 * with a source, only for the id in that source.
 */
export const purgeKeys = (realm: Realm, { id, email, source }: PurgeRequest): string[] => [
  ...(id == null ? [] : [source == null ? contactIdKey(realm, id) : contactSourceKey(realm, source, id)]),
  ...keysOfEmail(realm, email),
]
