import type { JobOf } from '../../contract/job.ts'
import { comparableEmail } from '../../contract/identity/own-id.ts'
import { DEFAULT_SOURCE } from '../../contract/stored-feedback.ts'
import { type Contacts, emailMeans, endKey } from './contacts.ts'
import type { Conversation } from './conversations.ts'
import type { Feedback } from './feedbacks.ts'
import { current, type Profile, text } from './profile.ts'

type Files = { contacts: Contacts; feedbacks: Map<string, Feedback>; conversations: Map<string, Conversation> }

/**
 * Takes out whoever matches, with all that is theirs. What remembers an external id whom nobody has goes for the asking;
 * what it has created of accounts and projects stays.
 */
export const purge = (files: Files, { body, number }: JobOf<'purge_contact'>): void => {
  const gone = matching(files.contacts, body)
  const isGone = (profile: Profile | null): boolean => profile !== null && gone.has(current(profile))
  const remembered = body.id == null ? [] : (files.contacts.awaiting.get(body.id) ?? [])

  for (const [id, { contact }] of files.feedbacks) {
    if (isGone(contact.profile) || remembered.includes(contact)) files.feedbacks.delete(id)
  }
  for (const [id, conversation] of files.conversations) {
    let was = false
    for (const contact of conversation.contacts) if (isGone(contact)) was = conversation.contacts.delete(contact)
    for (const [messageId, { contact }] of conversation.messages) {
      if (isGone(contact.profile) || remembered.includes(contact)) was = conversation.messages.delete(messageId)
    }
    const others = [...conversation.messages.values()].some(({ contact }) => contact.profile !== null)
    if (was && conversation.contacts.size === 0 && !others) files.conversations.delete(id)
  }
  if (body.id != null) files.contacts.awaiting.delete(body.id)
  forget(files.contacts, number, isGone)
}

/** Whether a purge has anybody, or a record that remembers the external id, to take out. */
export const matches = (files: Files, body: JobOf<'purge_contact'>['body']): boolean => {
  const remembered = body.id == null ? [] : (files.contacts.awaiting.get(body.id) ?? [])
  const links = [
    ...[...files.feedbacks.values()].map(({ contact }) => contact),
    ...[...files.conversations.values()].flatMap(({ messages }) =>
      [...messages.values()].map(({ contact }) => contact),
    ),
  ]
  return matching(files.contacts, body).size > 0 || links.some((link) => remembered.includes(link))
}

const matching = (contacts: Contacts, { id, email, source }: JobOf<'purge_contact'>['body']): Set<Profile> => {
  const sourcesOf = (profile: Profile): string[] =>
    [...contacts.byExternalId.values()].flatMap((sources) =>
      [...sources].filter(([, held]) => held === profile).map(([name]) => name),
    )
  const inSource = (profile: Profile): boolean => {
    const sources = sourcesOf(profile)
    return source == null || sources.includes(source) || (sources.length === 0 && source === DEFAULT_SOURCE)
  }
  const found = new Set<Profile>()
  for (const [name, profile] of contacts.byExternalId.get(id ?? '') ?? []) {
    if (source == null || name === source) found.add(profile)
  }
  const comparable = comparableEmail(email ?? '')
  if (comparable === undefined) return found
  const meant = emailMeans(contacts, comparable)
  for (const profile of new Set([...contacts.profiles.values()].map(current))) {
    const has = comparableEmail(text(profile, 'email') ?? '') === comparable
    if ((has || profile === meant) && inSource(profile)) found.add(profile)
  }
  return found
}

const forget = (contacts: Contacts, number: number, isGone: (profile: Profile) => boolean): void => {
  for (const [id, profile] of contacts.profiles) if (isGone(profile)) contacts.profiles.delete(id)
  for (const [externalId, sources] of contacts.byExternalId) {
    for (const [source, profile] of sources) {
      if (!isGone(profile)) continue
      sources.delete(source)
      endKey(contacts, number, ['contact_external', source, externalId])
    }
    if (sources.size === 0) contacts.byExternalId.delete(externalId)
  }
  for (const [email, meaning] of contacts.byEmail) {
    meaning.claimants = meaning.claimants.filter((claimant) => !isGone(claimant))
    if (meaning.anonymous && isGone(meaning.anonymous)) meaning.anonymous = null
    if (meaning.claimants.length > 0 || meaning.anonymous) continue
    contacts.byEmail.delete(email)
    endKey(contacts, number, ['contact_email', email])
  }
  for (const [feedbackId, profile] of contacts.byRecord) {
    if (!isGone(profile)) continue
    contacts.byRecord.delete(feedbackId)
    endKey(contacts, number, ['contact_record', feedbackId])
  }
}
