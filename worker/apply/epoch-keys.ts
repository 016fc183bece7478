import { DEFAULT_SOURCE, feedbackId } from '../../contract/stored-feedback.ts'
import type { ContactRecord } from '../../contract/contact-record.ts'
import { sourcedContacts } from '../../contract/conversation-record.ts'
import { canonicalEmail } from '../../contract/identity/canonical.ts'
import { contactIdKey, contactSourceKey, emailKey, recordContactKey } from '../../contract/identity/keys.ts'
import type { Realm } from '../../contract/identity/own-id.ts'
import type { Submission, SubmissionOf } from '../../contract/submission.ts'

/** All keys by which these submissions may name or create a contact, and that a purge may have ended. */
export function* epochKeysOf(realm: Realm, submissions: readonly Submission[]): Generator<string> {
  for (const submission of submissions) {
    switch (submission.operation) {
      case 'create_feedback':
        yield* keysOfFeedback(realm, submission)
        break
      case 'identify_contact':
        yield* keysOfContact(realm, submission.body, DEFAULT_SOURCE)
        break
      case 'submit_conversation':
        yield* keysOfConversation(realm, submission)
        break
      case 'identify_account':
      case 'purge_contact':
        break
    }
  }
}

function* keysOfFeedback(realm: Realm, { body, submissionId }: SubmissionOf<'create_feedback'>): Generator<string> {
  if (body.isExternalContactId)
    for (const id of [body.contactId, body.contact?.id]) if (id != null) yield contactIdKey(realm, id)
  const email = canonicalEmail(body.contact?.email ?? '')
  if (email !== undefined) yield emailKey(realm, email)
  else yield recordContactKey(realm, feedbackId({ ...realm, submissionId }, body))
}

function* keysOfContact(realm: Realm, { id, source }: ContactRecord, defaultSource: string): Generator<string> {
  yield contactIdKey(realm, id)
  yield contactSourceKey(realm, source ?? defaultSource, id)
}

function* keysOfConversation(realm: Realm, { body }: SubmissionOf<'submit_conversation'>): Generator<string> {
  for (const contact of sourcedContacts(body)) yield* keysOfContact(realm, contact, body.source)
  const senders = new Set(body.messages.map(({ contactId }) => contactId))
  for (const id of senders) if (id !== undefined) yield contactIdKey(realm, id)
}
