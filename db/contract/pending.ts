import type { ContactRecord } from './contact-record.ts'
import type { SubmissionJob } from './job.ts'
import { comparableEmail, ownId, type Realm } from './own-id.ts'
import { contactGroup, contactKey, feedbackReferences } from './reference.ts'
import { DEFAULT_SOURCE, feedbackId } from './stored-feedback.ts'

/**
 * What a submission that is still queued says about identity, as far as the ingress needs it to answer: kept in Redis from its
 * admission until it is stored, so that whoever asks in between finds it. Accounts are in no answer, so they are left out.
 */
export type Pending = {
  /** Contacts and projects that exist from this submission on, by own id. */
  exists: string[]
  /** What is said about a key: which external keys a group has, who claims an email. */
  said: { keyId: string; saying: Saying }[]
}

/**
 * An external id identified in a source (`named`) or without one (`bare`; `id` is the key that it starts at home), or an email
 * claimed by the external key `id` of `group`, or by the group's bare one.
 */
export type Saying =
  { kind: 'named' | 'bare'; id: string; source: string } | { kind: 'claim'; id: string; group: string; bare: boolean }

const NOTHING: Pending = { exists: [], said: [] }

/** The same at admission and when the submission is settled; the acceptance number plays no part. */
export const pendingOf = (realm: Realm, job: SubmissionJob): Pending => {
  switch (job.operation) {
    case 'create_feedback': {
      const recordId = feedbackId({ ...realm, submissionId: job.submissionId }, job.body)
      const { contact, project } = feedbackReferences({ ...realm, number: 0, recordId }, job.body)
      return { exists: [contact?.weak, project?.weak].filter((id) => id !== undefined), said: [] }
    }
    case 'identify_contact':
      return contactsPending(realm, [job.body], DEFAULT_SOURCE)
    case 'submit_conversation':
      return contactsPending(realm, job.body.contacts, job.body.source)
    case 'identify_account':
    case 'purge_contact':
      return NOTHING
  }
}

const contactsPending = (realm: Realm, contacts: readonly ContactRecord[], homeSource: string): Pending => {
  const exists: string[] = []
  const said: Pending['said'] = []
  for (const contact of contacts) {
    const bare = contact.source == null
    const source = contact.source ?? homeSource
    const group = contactGroup(realm, contact.id)
    const id = contactKey(realm, source, contact.id)
    exists.push(id)
    said.push({ keyId: group, saying: { kind: bare ? 'bare' : 'named', id, source } })
    const given = contact.properties?.['$email']
    const email = typeof given === 'string' ? comparableEmail(given) : undefined
    if (email !== undefined) {
      const keyId = ownId(realm, 'contact_email', email)
      exists.push(keyId)
      said.push({ keyId, saying: { kind: 'claim', id, group, bare } })
    }
  }
  return { exists: [...new Set(exists)], said }
}
