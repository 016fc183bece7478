import type { PurgeRequest } from '../../contract/purge-request.ts'
import { DEFAULT_SOURCE } from '../../contract/feedback-record.ts'
import { ownId } from '../../contract/identity/keys.ts'
import { type Contacts, emailMeans, endKey } from './contacts.ts'
import type { Conversation } from './conversations.ts'
import { type Feedback, feedbackKeyOf } from './feedbacks.ts'
import { emailKey } from './plain-keys.ts'
import { current, type Profile } from './profile.ts'

type State = { contacts: Contacts; feedbacks: Map<string, Feedback>; conversations: Map<string, Conversation> }

/**
 * Removes the matching contacts with all their records. Also removes records that name the external
 * id while no contact has it. Accounts and projects stay.
 */
export const purge = (state: State, body: PurgeRequest): void => {
  const gone = matching(state.contacts, body)
  const isGone = (profile: Profile | null): boolean => profile !== null && gone.has(current(profile))
  const remembered = body.id == null ? [] : (state.contacts.awaiting.get(body.id) ?? [])

  for (const [id, { contact }] of state.feedbacks) {
    if (isGone(contact.profile) || remembered.includes(contact)) state.feedbacks.delete(id)
  }
  for (const [id, conversation] of state.conversations) {
    let isTouched = false
    for (const contact of conversation.contacts) if (isGone(contact)) isTouched = conversation.contacts.delete(contact)
    for (const [messageId, { contact }] of conversation.messages) {
      if (isGone(contact.profile) || remembered.includes(contact)) isTouched = conversation.messages.delete(messageId)
    }
    const others = [...conversation.messages.values()].some(({ contact }) => contact.profile !== null)
    if (isTouched && conversation.contacts.size === 0 && !others) state.conversations.delete(id)
  }
  if (body.id != null) state.contacts.awaiting.delete(body.id)
  forget(state.contacts, isGone)
}

/**
 * Removes a feedback, and its contact if that has a name alone and no other feedback. The next
 * feedback with the same source id gets another id.
 */
export const deleteFeedback = (state: State & { feedbackEpochs: Map<string, number> }, id: string): void => {
  const { contacts, feedbacks, feedbackEpochs } = state
  const feedback = feedbacks.get(id)
  if (!feedback) return
  const key = feedbackKeyOf(contacts.realm, id, feedback.record)
  feedbacks.delete(id)
  feedbackEpochs.set(key, (feedbackEpochs.get(key) ?? 0) + 1)
  const own = ownId(contacts.realm, 'contact_record', id)
  const isOwn = (profile: Profile | null): boolean => profile !== null && current(profile).id === own
  if (![...feedbacks.values()].some(({ contact }) => isOwn(contact.profile))) forget(contacts, isOwn)
}

const matching = (contacts: Contacts, { id, email, source }: PurgeRequest): Set<Profile> => {
  const sourcesOf = (profile: Profile): string[] =>
    [...contacts.byExternalId.values()].flatMap((sources) =>
      [...sources].filter(([, held]) => held === profile).map(([name]) => name),
    )
  const isInSource = (profile: Profile): boolean => {
    const sources = sourcesOf(profile)
    return source == null || sources.includes(source) || (sources.length === 0 && source === DEFAULT_SOURCE)
  }
  const found = new Set<Profile>()
  for (const [name, profile] of contacts.byExternalId.get(id ?? '') ?? []) {
    if (source == null || name === source) found.add(profile)
  }
  const canonical = emailKey(email ?? '')
  if (canonical === undefined) return found
  const meant = emailMeans(contacts, canonical)
  for (const profile of new Set([...contacts.profiles.values()].map(current))) {
    const hasEmail = emailKey((profile.columns.get('email') ?? '') as string) === canonical
    if ((hasEmail || profile === meant) && isInSource(profile)) found.add(profile)
  }
  return found
}

const forget = (contacts: Contacts, isGone: (profile: Profile) => boolean): void => {
  for (const [id, profile] of contacts.profiles) if (isGone(profile)) contacts.profiles.delete(id)
  for (const [externalId, sources] of contacts.byExternalId) {
    for (const [source, profile] of sources) {
      if (!isGone(profile)) continue
      sources.delete(source)
      endKey(contacts, 'contact_external', source, externalId)
    }
    if (sources.size === 0) contacts.byExternalId.delete(externalId)
  }
  for (const [email, meaning] of contacts.byEmail) {
    meaning.claimants = meaning.claimants.filter(({ profile }) => !isGone(profile))
    if (meaning.anonymous && isGone(meaning.anonymous)) meaning.anonymous = null
    if (meaning.claimants.length > 0 || meaning.anonymous) continue
    contacts.byEmail.delete(email)
    endKey(contacts, 'contact_email', email)
  }
}
