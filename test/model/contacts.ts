import type { ContactRecord } from '../../contract/contact-record.ts'
import type { FeedbackRecord } from '../../contract/feedback-record.ts'
import {
  comparableEmail,
  comparableName,
  idAfterPurge,
  type KeyKind,
  ownId,
  type Realm,
} from '../../contract/identity/own-id.ts'
import { identifiedValues } from './identified-values.ts'
import { absorb, fill, identify, type Profile } from './profile.ts'
import { type Claims, findOrOpen, giveOwnId, linkAwaiting, openRegister, type Register } from './register.ts'

export type Contacts = Register & {
  readonly realm: Realm
  /** By external id and source; the sources of an external id in the order in which they came up. */
  readonly byExternalId: Map<string, Map<string, Profile>>
  /** Who has claimed an email, the latest last, and the anonymous contact that it had before. */
  readonly byEmail: Map<string, { claimants: Profile[]; anonymous: Profile | null }>
  /** Who has nothing but a name and one feedback, by the feedback's id. */
  readonly byRecord: Map<string, Profile>
  /** By key: the number of the last purge that ended it. */
  readonly endedAt: Map<string, number>
}

export const openContacts = (realm: Realm): Contacts => ({
  ...openRegister(),
  realm,
  byExternalId: new Map(),
  byEmail: new Map(),
  byRecord: new Map(),
  endedAt: new Map(),
})

/** The own id of a key: another one after each purge of it. */
const idOf = ({ realm, endedAt }: Contacts, kind: KeyKind, ...parts: string[]): string => {
  const key = ownId(realm, kind, ...parts)
  const number = endedAt.get(key)
  return number === undefined ? key : idAfterPurge(key, number)
}

/** From now on the key stands for nobody, and starts afresh with another id. */
export const endKey = (
  { realm, endedAt }: Contacts,
  number: number,
  [kind, ...parts]: [KeyKind, ...string[]],
): void => {
  endedAt.set(ownId(realm, kind, ...parts), number)
}

/** Searches all sources: the preferred one first, then the oldest. */
export const findContact = (contacts: Contacts, externalId: string, preferredSource: string): Profile | undefined => {
  const sources = contacts.byExternalId.get(externalId)
  return sources?.get(preferredSource) ?? sources?.values().next().value
}

type Identified = { record: ContactRecord; defaultSource: string; number: number; claims: Claims }

/** Whom a contact record means: in its source, or else the oldest of all sources. Created if there is none. */
export const findOrCreateIdentified = (
  contacts: Contacts,
  { record, defaultSource, number }: Omit<Identified, 'claims'>,
): Profile => {
  const sources = contacts.byExternalId.get(record.id) ?? new Map<string, Profile>()
  contacts.byExternalId.set(record.id, sources)
  const found = record.source == null ? sources.values().next().value : sources.get(record.source)
  if (found) return found

  const source = record.source ?? defaultSource
  const profile = findOrOpen(contacts, idOf(contacts, 'contact_external', source, record.id), number)
  sources.set(source, profile)
  linkAwaiting(contacts, record.id, profile)
  return profile
}

/** The nested account is not looked at. */
export const identifyContact = (contacts: Contacts, identified: Identified): Profile => {
  const { record, number } = identified
  const profile = findOrCreateIdentified(contacts, identified)
  const values = identifiedValues(record, 'contact')
  identify(profile, values, number)
  const email = comparableEmail((values.columns['email'] ?? '') as string)
  if (email !== undefined) identified.claims.set(`email ${email}`, () => claimEmail(contacts, email, profile))
  return profile
}

/** Whom an email means now: who claimed it last, or else its anonymous contact. */
export const emailMeans = (contacts: Contacts, email: string): Profile | undefined => {
  const meaning = contacts.byEmail.get(email)
  return meaning?.claimants.at(-1) ?? meaning?.anonymous ?? undefined
}

/** The latest claim holds. The first one takes over the anonymous contact, whom nobody had claimed. */
const claimEmail = (contacts: Contacts, email: string, claimant: Profile): void => {
  const meaning = contacts.byEmail.get(email) ?? { claimants: [], anonymous: null }
  if (meaning.claimants.length === 0) {
    if (meaning.anonymous) absorb(claimant, meaning.anonymous)
    giveOwnId(contacts, idOf(contacts, 'contact_email', email), claimant)
  }
  meaning.claimants.push(claimant)
  contacts.byEmail.set(email, meaning)
}

type Given = { contact: FeedbackRecord['contact']; feedbackId: string; number: number }

/** By email, or by nothing but a name, which means a contact of this one feedback. */
export const findOrCreateContact = (
  contacts: Contacts,
  { contact, feedbackId, number }: Given,
): Profile | undefined => {
  const email = comparableEmail(contact?.email ?? '')
  const name = comparableName(contact?.name ?? '')
  if (email === undefined && name === undefined) return undefined

  const profile =
    email === undefined
      ? findOrOpen(contacts, idOf(contacts, 'contact_record', feedbackId), number)
      : findOrCreateByEmail(contacts, email, number)
  if (email === undefined) contacts.byRecord.set(feedbackId, profile)
  const columns = { ...(email !== undefined && { email: contact?.email ?? '' }), ...(name !== undefined && { name }) }
  fill(profile, { columns, properties: contact?.sourceData ?? {} }, number)
  return profile
}

const findOrCreateByEmail = (contacts: Contacts, email: string, number: number): Profile => {
  const meant = emailMeans(contacts, email)
  if (meant) return meant
  const profile = findOrOpen(contacts, idOf(contacts, 'contact_email', email), number)
  contacts.byEmail.set(email, { claimants: [], anonymous: profile })
  return profile
}
