import { DEFAULT_SOURCE, feedbackId } from '../../contract/stored-feedback.ts'
import type { ContactRecord } from '../../contract/contact-record.ts'
import { sourcedContacts } from '../../contract/conversation-record.ts'
import { canonicalEmail } from '../../contract/identity/canonical.ts'
import { contactIdKey, contactSourceKey, emailKey, recordContactKey } from '../../contract/identity/keys.ts'
import type { Realm } from '../../contract/identity/own-id.ts'
import type { Submission, SubmissionOf } from '../../contract/submission.ts'

/**
 * All keys by which a submission may name or create a contact. A purge may have raised their
 * epochs.
 */
export const epochKeysOf = (realm: Realm, submission: Submission): string[] => {
  switch (submission.operation) {
    case 'create_feedback':
      return keysOfFeedback(realm, submission)
    case 'identify_contact':
      return keysOfContact(realm, submission.body, DEFAULT_SOURCE)
    case 'submit_conversation':
      return keysOfConversation(realm, submission)
    case 'identify_account':
    case 'purge_contact':
      return []
  }
}

const keysOfFeedback = (realm: Realm, { body, submissionId }: SubmissionOf<'create_feedback'>): string[] => {
  const ids = body.isExternalContactId ? [body.contactId, body.contact?.id].filter((id) => id != null) : []
  const email = canonicalEmail(body.contact?.email ?? '')
  const weakKey =
    email === undefined ? recordContactKey(realm, feedbackId({ ...realm, submissionId }, body)) : emailKey(realm, email)
  return [...ids.map((id) => contactIdKey(realm, id)), weakKey]
}

const keysOfContact = (realm: Realm, { id, source }: ContactRecord, defaultSource: string): string[] => [
  contactIdKey(realm, id),
  contactSourceKey(realm, source ?? defaultSource, id),
]

const keysOfConversation = (realm: Realm, { body }: SubmissionOf<'submit_conversation'>): string[] => {
  const senders = new Set(body.messages.flatMap(({ contactId }) => contactId ?? []))
  return [
    ...sourcedContacts(body).flatMap((contact) => keysOfContact(realm, contact, body.source)),
    ...Array.from(senders, (id) => contactIdKey(realm, id)),
  ]
}
