import type { ContactRecord } from '../contact-record.ts'
import { type ConversationRecord, sourcedContacts } from '../conversation-record.ts'
import type { FeedbackRecord } from '../feedback-record.ts'
import type { JobOf, SubmissionJob } from '../job.ts'
import type { PurgeRequest } from '../purge-request.ts'
import { DEFAULT_SOURCE, feedbackId, feedbackSource } from '../stored-feedback.ts'
import { comparableEmail, ownId, type Realm } from './own-id.ts'
import { purgeKeys } from './purge-keys.ts'
import { answerReferences, contactGroup, contactKey, type Reference } from './reference.ts'

/**
 * By what contacts are named, as keys. `exact`: own ids, emails, and external ids in the source of the record that names them.
 * `anySource`: external ids (groups) whose source the record leaves open. `oneSource`: groups of external ids that are meant in
 * one source only.
 */
export type Names = { exact: readonly string[]; anySource: readonly string[]; oneSource: readonly string[] }

const NOBODY: Names = { exact: [], anySource: [], oneSource: [] }

/**
 * What names contacts in a submission. Which contacts these names mean in the end is not looked at. `contact` is the reference of
 * a feedback, where it has been made already: hashing anew is not free.
 */
export const namesIn = (realm: Realm, job: SubmissionJob, contact?: Reference | null): Names => {
  switch (job.operation) {
    case 'create_feedback':
      return namesInFeedback(realm, job.body, contact === undefined ? contactOf(realm, job) : contact)
    case 'identify_contact':
      return namesOfContact(realm, job.body, DEFAULT_SOURCE)
    case 'submit_conversation':
      return namesInConversation(realm, job.body)
    case 'purge_contact':
      return namesInPurge(realm, job.body)
    case 'identify_account':
      return NOBODY
  }
}

const contactOf = (realm: Realm, { submissionId, body }: JobOf<'create_feedback'>): Reference | null =>
  answerReferences({ ...realm, number: 0, recordId: feedbackId({ ...realm, submissionId }, body) }, body).contact

const namesInFeedback = (realm: Realm, body: FeedbackRecord, contact: Reference | null): Names => {
  const weak = contact?.weak === undefined ? [] : [contact.weak]
  if (contact?.own !== false) return { ...NOBODY, exact: [...(contact?.ids ?? []), ...weak] }
  const externalIds = [body.contactId, body.contact?.id].filter((id) => id != null)
  return together([
    { ...NOBODY, exact: weak },
    ...externalIds.map((id) => namesOfExternalId(realm, id, feedbackSource(body))),
  ])
}

/** What names the contact that a record identifies; `homeSource` is where one without a source is created. */
export const namesOfContact = (realm: Realm, record: ContactRecord, homeSource: string): Names => {
  const group = contactGroup(realm, record.id)
  const given = record.properties?.['$email']
  const email = typeof given === 'string' ? comparableEmail(given) : undefined
  return {
    exact: [
      contactKey(realm, record.source ?? homeSource, record.id),
      ...(email === undefined ? [] : [ownId(realm, 'contact_email', email)]),
    ],
    anySource: record.source == null ? [group] : [],
    oneSource: record.source == null ? [] : [group],
  }
}

/** An external id without a source of its own means the one in the source of its record first, then any other. */
export const namesOfExternalId = (realm: Realm, id: string, source: string): Names => ({
  exact: [contactKey(realm, source, id)],
  anySource: [contactGroup(realm, id)],
  oneSource: [],
})

const namesInConversation = (realm: Realm, body: ConversationRecord): Names => {
  const contacts = sourcedContacts(body)
  const identified = new Set(contacts.map(({ id }) => id))
  const senders = new Set(body.messages.flatMap(({ contactId }) => contactId ?? []))
  return together([
    ...contacts.map((contact) => namesOfContact(realm, contact, body.source)),
    ...[...senders.difference(identified)].map((id) => namesOfExternalId(realm, id, body.source)),
  ])
}

/** What a purge asks for by name. */
export const namesInPurge = (realm: Realm, wanted: PurgeRequest): Names => {
  const { group, email } = purgeKeys(realm, wanted)
  const isOneSource = wanted.id != null && wanted.source != null
  return {
    exact: [
      ...(email === null ? [] : [email]),
      ...(isOneSource ? [contactKey(realm, wanted.source!, wanted.id!)] : []),
    ],
    anySource: group === null || isOneSource ? [] : [group],
    oneSource: group !== null && isOneSource ? [group] : [],
  }
}

/** All of the names, as keys by which a purge finds what they stand in. */
export const keysOf = ({ exact, anySource, oneSource }: Names): string[] => [
  ...new Set([...exact, ...anySource, ...oneSource]),
]

const together = (all: readonly Names[]): Names => ({
  exact: all.flatMap(({ exact }) => exact),
  anySource: all.flatMap(({ anySource }) => anySource),
  oneSource: all.flatMap(({ oneSource }) => oneSource),
})
