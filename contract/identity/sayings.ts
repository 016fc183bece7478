import type { ContactRecord } from '../contact-record.ts'
import { lastOfEach, namedContacts } from '../conversation-record.ts'
import type { JobOf, SubmissionJob } from '../job.ts'
import { comparableEmail, ownId, type Realm } from './own-id.ts'
import { purgeKeys } from './purge-keys.ts'
import { type AnswerReferences, answerReferences, contactGroup, contactKey } from './reference.ts'
import { DEFAULT_SOURCE, feedbackId, feedbackSource } from '../stored-feedback.ts'

/**
 * What a queued submission says about identity, as far as the ingress needs it to answer. Redis keeps it from the admission until
 * the submission is stored, so that a request in between finds it. No answer tells of accounts, so they are left out.
 */
export type Sayings = {
  /** Own ids that exist from this submission on: of a project, of a contact known by name only, or of an external id (its group). */
  newIds: { id: string; of: 'project' | 'record' | (string & {}) }[]
  /** Each key stands here once. */
  aboutKeys: { keyId: string; sayings: Saying[] }[]
}

/**
 * One thing that a submission says about a key.
 * About a group: an identify named the external id with a source (`named`) or without one (`bare`; `id` is the key that it starts
 * at home). `email` is the email that this identify gives it: null takes it away, and an absent one was not mentioned. Or a record
 * remembers the external id (`remembered`).
 * About an email, or about the record of a contact known by name only: a find-or-create gave it (`given`), or the external key `id`
 * of `group` claimed it (`claim`; `bare` when the identify had no source).
 * About either: a purge asks for it.
 */
export type Saying =
  | { kind: 'named' | 'bare'; id: string; source: string; email?: string | null }
  | { kind: 'remembered'; unless: NamedIds | null }
  | { kind: 'given'; unless: NamedIds | null }
  | { kind: 'claim'; id: string; group: string; bare: boolean }
  | { kind: 'purge'; submissionId: string; group: string | null; email: string | null; source: string | null }

/** Ids that the same reference tries first, for a record of `source`. If one means somebody, the rest of it does not count. */
export type NamedIds = { ids: string[]; own: boolean; source: string }

/** Admission and settling get the same result, since the acceptance number plays no part. */
export const sayingsOf = (realm: Realm, job: SubmissionJob): Sayings => {
  switch (job.operation) {
    case 'create_feedback': {
      return feedbackSayings(referencesOf(realm, job), feedbackSource(job.body))
    }
    case 'identify_contact':
      return contactsSayings([identifiedKeys(realm, job.body, DEFAULT_SOURCE)])
    case 'submit_conversation': {
      const contacts = namedContacts(job.body).map((contact) => identifiedKeys(realm, contact, job.body.source))
      const present = new Set(job.body.contacts.map(({ id }) => id))
      const senders = new Set(lastOfEach(job.body.messages, ({ id }) => id).flatMap(({ contactId }) => contactId ?? []))
      return contactsSayings(
        contacts,
        [...senders].filter((id) => !present.has(id)).map((id) => contactGroup(realm, id)),
      )
    }
    case 'purge_contact': {
      const { submissionId, body } = job
      const saying = {
        kind: 'purge' as const,
        submissionId,
        ...purgeKeys(realm, body),
        source: body.source ?? null,
      }
      const keys = [saying.group, saying.email].filter((key) => key !== null)
      return { newIds: [], aboutKeys: keys.map((keyId) => ({ keyId, sayings: [saying] })) }
    }
    case 'identify_account':
      return { newIds: [], aboutKeys: [] }
  }
}

const remembered = (keyId: string, unless: NamedIds | null = null): Sayings['aboutKeys'][number] => ({
  keyId,
  sayings: [{ kind: 'remembered', unless }],
})

/** The sayings of a feedback whose references have been made already. */
export const feedbackSayings = ({ contact, project }: AnswerReferences, source: string): Sayings => {
  const aboutKeys: Sayings['aboutKeys'] = []
  const unless = contact?.ids ? { ids: contact.ids, own: contact.own === true, source } : null
  const isRecord = contact?.weakKind === 'contact_record'
  if (contact?.weak !== undefined && (!isRecord || unless !== null)) {
    aboutKeys.push({ keyId: contact.weak, sayings: [{ kind: 'given', unless }] })
  }
  // The last of several external ids is remembered, unless the contact is known by something else.
  if (contact?.own === false && contact.weak === undefined) aboutKeys.push(remembered(contact.ids!.at(-1)!, unless))
  const newIds: Sayings['newIds'] = []
  if (isRecord && unless === null) newIds.push({ id: contact.weak!, of: 'record' })
  if (project?.weak !== undefined) newIds.push({ id: project.weak, of: 'project' })
  return { newIds, aboutKeys }
}

/** A contact that a submission identifies, as keys. `email` is null where it is taken away, and undefined where it is not mentioned. */
export type IdentifiedKeys = {
  /** The key of its external id in its source, or at home. */
  id: string
  group: string
  source: string
  bare: boolean
  email: string | null | undefined
}

const identifiedKeys = (realm: Realm, contact: ContactRecord, homeSource: string): IdentifiedKeys => {
  const source = contact.source ?? homeSource
  const given = contact.properties?.['$email']
  const email = typeof given === 'string' ? comparableEmail(given) : undefined
  const emailKey = email === undefined ? null : ownId(realm, 'contact_email', email)
  return {
    id: contactKey(realm, source, contact.id),
    group: contactGroup(realm, contact.id),
    source,
    bare: contact.source == null,
    email: given === undefined ? undefined : emailKey,
  }
}

/** The sayings of contacts whose keys have been made already, and of the groups of external ids that are named besides. */
export const contactsSayings = (contacts: readonly IdentifiedKeys[], others: Iterable<string> = []): Sayings => {
  const exists = new Map<string, Sayings['newIds'][number]>()
  const said = new Map<string, Saying[]>()
  const say = (keyId: string, saying: Saying): void => {
    const sayings = said.get(keyId)
    if (sayings) sayings.push(saying)
    else said.set(keyId, [saying])
  }
  for (const { id, group, source, bare, email } of contacts) {
    exists.set(id, { id, of: group })
    say(group, { kind: bare ? 'bare' : 'named', id, source, ...(email !== undefined && { email }) })
    if (email != null) say(email, { kind: 'claim', id, group, bare })
  }
  const aboutKeys = [...said].map(([keyId, sayings]) => ({ keyId, sayings }))
  return {
    newIds: [...exists.values()],
    aboutKeys: [...aboutKeys, ...Array.from(others, (keyId) => remembered(keyId))],
  }
}

const referencesOf = (realm: Realm, job: JobOf<'create_feedback'>): AnswerReferences => {
  const recordId = feedbackId({ ...realm, submissionId: job.submissionId }, job.body)
  return answerReferences({ ...realm, number: 0, recordId }, job.body)
}
