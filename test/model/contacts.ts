import type { ContactRecord } from '../../contract/contact-record.ts'
import type { FeedbackRecord } from '../../contract/feedback-record.ts'
import { idOfEpoch, type OwnIdKind, ownId, type Realm } from '../../contract/identity/keys.ts'
import { emailKey, emailText, nameKey } from './plain-keys.ts'
import { absorb, fill, identify, type Moment, type Profile, valuesOf } from './profile.ts'
import { type Claims, findOrOpen, linkAwaiting, noteClaim, openRegister, type Register } from './register.ts'

/** `isLate`: the contact has newer values than the identify that claims. */
type Claimant = { profile: Profile; moment: Moment; isLate: boolean }

export type Contacts = Register & {
  readonly realm: Realm
  /** By external id and source. The sources of an external id are in their order of appearance. */
  readonly byExternalId: Map<string, Map<string, Profile>>
  /** By email. The claims are in their order. The first claim absorbs the anonymous contact. */
  readonly byEmail: Map<string, { claimants: Claimant[]; anonymous: Profile | null }>
  /** The number of purges of each key. */
  readonly epochs: Map<string, number>
}

export const openContacts = (realm: Realm): Contacts => ({
  ...openRegister(),
  realm,
  byExternalId: new Map(),
  byEmail: new Map(),
  epochs: new Map(),
})

/** The own id of a key in its current epoch. */
const idOf = ({ realm, epochs }: Contacts, kind: OwnIdKind, ...parts: string[]): string => {
  const key = ownId(realm, kind, ...parts)
  return idOfEpoch(key, epochs.get(key) ?? 0)
}

/** Raises the epoch of a key, so that its next contact gets another id. */
export const endKey = ({ realm, epochs }: Contacts, kind: OwnIdKind, ...parts: string[]): void => {
  const key = ownId(realm, kind, ...parts)
  epochs.set(key, (epochs.get(key) ?? 0) + 1)
}

/** Searches all sources: the preferred one first, then the oldest. */
export const findContact = (contacts: Contacts, externalId: string, preferredSource: string): Profile | undefined => {
  const sources = contacts.byExternalId.get(externalId)
  return sources?.get(preferredSource) ?? sources?.values().next().value
}

type Identified = { record: ContactRecord; defaultSource: string; moment: Moment; claims: Claims }

/** Finds or creates by source and id. For a record without a source, the first source counts. */
export const findOrCreateIdentified = (
  contacts: Contacts,
  { record, defaultSource, moment }: Omit<Identified, 'claims'>,
): Profile => {
  const sources = contacts.byExternalId.get(record.id) ?? new Map<string, Profile>()
  contacts.byExternalId.set(record.id, sources)
  const found = record.source == null ? sources.values().next().value : sources.get(record.source)
  if (found) return found

  const source = record.source ?? defaultSource
  const profile = findOrOpen(contacts, idOf(contacts, 'contact_external', source, record.id), moment)
  sources.set(source, profile)
  linkAwaiting(contacts, record.id, profile)
  return profile
}

/** Identifies a contact without its nested account. */
export const identifyContact = (contacts: Contacts, identified: Identified): { profile: Profile; isLate: boolean } => {
  const { record, moment, claims } = identified
  const profile = findOrCreateIdentified(contacts, identified)
  const values = valuesOf(record, 'contact')
  const isLate = identify(profile, values, moment)
  const email = emailKey((values.columns['email'] ?? '') as string)
  if (email !== undefined) {
    const claimant = { profile, moment, isLate }
    noteClaim(claims, { key: `email ${email}`, isLate, apply: () => claimEmail(contacts, email, claimant) })
  }
  return { profile, isLate }
}

/** The current contact of an email: its last claimant, or else its anonymous contact. */
export const emailMeans = (contacts: Contacts, email: string): Profile | undefined => {
  const meaning = contacts.byEmail.get(email)
  return meaning?.claimants.at(-1)?.profile ?? meaning?.anonymous ?? undefined
}

/**
 * The last claim holds. The first claim absorbs the anonymous contact. A late claim leaves a
 * claimed email.
 */
const claimEmail = (contacts: Contacts, email: string, claimant: Claimant): void => {
  const meaning = contacts.byEmail.get(email) ?? { claimants: [], anonymous: null }
  const latest = meaning.claimants.at(-1)
  if (latest && (claimant.isLate || latest.profile === claimant.profile)) return
  if (!latest && meaning.anonymous) absorb(claimant.profile, meaning.anonymous, claimant.moment)
  meaning.claimants.push(claimant)
  contacts.byEmail.set(email, meaning)
}

type Given = {
  contact: FeedbackRecord['contact']
  feedbackId: string
  moment: Moment
  /** The last submission that was known as applied at the time of the answer. */
  seenPosition: number | undefined
}

/**
 * Finds or creates by email. A name without an email, or an email that is no address, means a
 * contact of only this feedback.
 */
export const findOrCreateContact = (contacts: Contacts, given: Given): Profile | undefined => {
  const { contact, feedbackId, moment } = given
  const email = emailKey(contact?.email ?? '')
  const hasEmail = emailText(contact?.email ?? '') !== undefined
  const name = nameKey(contact?.name ?? '')
  if (!hasEmail && name === undefined) return undefined

  const profile =
    email === undefined
      ? findOrOpen(contacts, ownId(contacts.realm, 'contact_record', feedbackId), moment)
      : findOrCreateByEmail(contacts, email, given)
  const columns = {
    ...(hasEmail && { email: contact?.email ?? '' }),
    ...(name !== undefined && { name: contact?.name ?? '' }),
  }
  fill(profile, { columns, properties: contact?.sourceData ?? {} }, moment)
  return profile
}

/**
 * If the answer cannot have seen the last claim, it may have had the own id of the email. Then this
 * id becomes an alias of the claimant.
 */
const findOrCreateByEmail = (contacts: Contacts, email: string, { moment, seenPosition }: Given): Profile => {
  const id = idOf(contacts, 'contact_email', email)
  const meaning = contacts.byEmail.get(email)
  const claim = meaning?.claimants.at(-1)
  if (claim && claim.moment.number > (seenPosition ?? 0) && !contacts.profiles.has(id)) {
    contacts.profiles.set(id, claim.profile)
  }
  const meant = emailMeans(contacts, email)
  if (meant) return meant
  const profile = findOrOpen(contacts, id, moment)
  contacts.byEmail.set(email, { claimants: [], anonymous: profile })
  return profile
}
