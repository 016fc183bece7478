import { Buffer } from 'node:buffer'
import {
  canonicalEmail,
  canonicalName,
  contactIdKey,
  contactSourceKey,
  emailKey,
  hasEmail,
  type Realm,
  recordContactKey,
} from '../contract/identity/keys.ts'
import type { ContactRecord } from '../contract/contact-record.ts'
import type { FeedbackRecord } from '../contract/feedback-record.ts'
import type { JsonValue } from '../contract/json.ts'
import type { Submission } from '../contract/submission.ts'
import type { Changes } from './changes.ts'
import type { Claims, Epochs, Profiles, Unresolved } from './profiles.ts'
import type { Profile } from './profile.ts'
import { identifiedValues, textOf } from './profile-values.ts'
import type { StoredRow, StoredRowOf } from './stored.ts'

/** An external id in one of its sources. */
type SourceKey = { source: string; number: number; contact: Profile }
type NewKey = SourceKey & { key: string; externalId: string }
/**
 * A contact record of a submission. The contact is created in `defaultSource` if the record has no
 * source.
 */
export type IdentifiedContact = { record: ContactRecord; defaultSource: string; submission: Submission; claims: Claims }

/** The contacts of a workspace and their external ids. */
export class Contacts {
  readonly realm: Realm
  readonly epochs: Epochs
  readonly unresolved: Unresolved
  readonly profiles: Profiles
  readonly emails: Emails
  /** By the key of an external id in all sources; the oldest source comes first. */
  readonly #byExternalId = new Map<string, SourceKey[]>()
  readonly #newKeys: NewKey[] = []

  constructor({ realm, epochs, unresolved, profiles }: Pick<Contacts, 'realm' | 'epochs' | 'unresolved' | 'profiles'>) {
    this.realm = realm
    this.epochs = epochs
    this.unresolved = unresolved
    this.profiles = profiles
    this.emails = new Emails(realm, epochs, this.profiles)
  }

  /** Adds the loaded external ids, each with its source and contact. */
  learnKeys(rows: readonly StoredRow[]): void {
    const sources = Map.groupBy(
      rows.filter((row) => row.kind === 'contactExternalId'),
      ({ key }) => key,
    )
    for (const [key, own] of sources) {
      const keys = own.map((row) => ({ source: row.source, number: row.number, contact: this.profiles.learn(row) }))
      this.#byExternalId.set(key, keys.toSorted(byAge))
    }
  }

  /**
   * Finds or creates the contact of a record by external id: in the source of the record, or the
   * oldest contact of all sources if the record has no source.
   */
  findOrCreate({ record, defaultSource, submission: { number } }: Omit<IdentifiedContact, 'claims'>): Profile {
    const key = contactIdKey(this.realm, record.id)
    let sources = this.#byExternalId.get(key)
    if (sources === undefined) this.#byExternalId.set(key, (sources = []))
    const found = record.source == null ? sources[0] : sources.find(({ source }) => source === record.source)
    if (found !== undefined) return found.contact

    const source = record.source ?? defaultSource
    const contact = this.profiles.findOrOpen(this.epochs.idOf(contactSourceKey(this.realm, source, record.id)))
    if (sources.length === 0) this.unresolved.resolve(this.epochs.idOf(key), contact)
    sources.push({ source, number, contact })
    this.#newKeys.push({ key, externalId: record.id, source, number, contact })
    return contact
  }

  /**
   * Sets the values of the record, and claims its email. A late record only fills absent values.
   */
  identify(identified: IdentifiedContact): { contact: Profile; isLate: boolean } {
    const { record, submission, claims } = identified
    const contact = this.findOrCreate(identified)
    const values = identifiedValues('contact', record)
    const email = canonicalEmail(textOf(values, 'email'))
    const isLate = contact.isNewerThan(values, submission)
    const isEmailFilled = isLate && email !== undefined && !contact.hasColumn('email')
    if (isLate) contact.fillIn(values, submission)
    else contact.identify(values, submission)
    if (email !== undefined) this.emails.addClaim({ email, contact, isLate, isEmailFilled, submission, claims })
    return { contact, isLate }
  }

  /** Searches all sources: the preferred one first, then the oldest. */
  findByKey(key: string, preferredSource: string): Profile | undefined {
    const sources = this.#byExternalId.get(key)
    return (sources?.find(({ source }) => source === preferredSource) ?? sources?.[0])?.contact
  }

  /**
   * The contact of a feedback: by email. A contact with a name alone, or with an email that is no
   * address, belongs to this feedback.
   */
  findOrCreateFor(given: FeedbackRecord['contact'], feedbackId: string, submission: Submission): Profile | undefined {
    const email = canonicalEmail(given?.email ?? '')
    const keepsEmail = hasEmail(given?.email ?? '')
    const name = canonicalName(given?.name ?? '')
    if (!keepsEmail && name === undefined) return undefined
    const contact =
      email === undefined
        ? this.profiles.findOrOpen(recordContactKey(this.realm, feedbackId))
        : this.emails.findOrCreate(email, submission)
    const columns: Record<string, JsonValue> = {}
    if (keepsEmail) columns['email'] = given!.email!
    if (name !== undefined) columns['name'] = given!.name!
    contact.fillIn({ columns, properties: given?.sourceData ?? {} }, submission)
    return contact
  }

  writeTo(changes: Changes): void {
    this.profiles.writeTo(changes)
    this.emails.writeTo(changes)
    for (const { key, source, externalId, number, contact } of this.#newKeys)
      changes.contact_external_id.push({
        key_id: key,
        source,
        external_id: externalId,
        contact_id: contact.id,
        number,
      })
  }
}

const byAge = (a: SourceKey, b: SourceKey): number => a.number - b.number || bySource(a.source, b.source)

/** By code points, as Postgres compares sources (references.sql). JavaScript compares UTF-16 units. */
export const bySource = (a: string, b: string): number => (a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b)))

/** The contact of an email. Without a claim, the contact is anonymous: known by the email only. */
type EmailMeaning = { contact: Profile; isClaimed: boolean; number: number }
/** `number`: of the claim, of the feedback that created the contact, or `HOLDS_ONLY`. */
type Holding = { number: number; isClaimed: boolean }
/** `isEmailFilled`: a late identify filled the email column. */
type EmailClaim = {
  email: string
  contact: Profile
  isLate: boolean
  isEmailFilled: boolean
  submission: Submission
  claims: Claims
}

/**
 * For a contact that has the email in its column, although the email means another contact. A purge
 * by the email finds both. The row counts as claimed, so this contact is never taken for anonymous.
 */
const HOLDS_ONLY = 0

/** Emails in canonical form. */
class Emails {
  readonly realm: Realm
  readonly epochs: Epochs
  readonly profiles: Profiles
  readonly #meanings = new Map<string, EmailMeaning>()
  /** The changes, by email. */
  readonly #held = new Map<string, Map<Profile, Holding>>()
  readonly #gone: { email: string; contact: Profile }[] = []

  constructor(realm: Realm, epochs: Epochs, profiles: Profiles) {
    this.realm = realm
    this.epochs = epochs
    this.profiles = profiles
  }

  learn({ key, profile, isClaimed, number }: StoredRowOf<'email'>): void {
    this.#meanings.set(key, { contact: this.profiles.learn({ id: profile.id, profile }), isClaimed, number })
  }

  /**
   * Adds the claim of an identify. A late identify gets the email only if no contact has claimed
   * the email.
   */
  addClaim({ email, contact, isLate, isEmailFilled, submission, claims }: EmailClaim): void {
    const holdOnly = (): void => {
      if (!isLate || isEmailFilled) this.#note(email, contact, { number: HOLDS_ONLY, isClaimed: true })
    }
    const apply = (): void => {
      if (isLate && this.#meanings.get(email)?.isClaimed === true) holdOnly()
      else this.#give(email, contact, submission)
    }
    claims.set(`email ${email}`, { isLate, apply, displace: holdOnly })
  }

  /** The latest claim counts. The first claim absorbs the anonymous contact of the email. */
  #give(email: string, contact: Profile, submission: Submission): void {
    const { number } = submission
    const meaning = this.#meanings.get(email)
    if (meaning?.isClaimed === true && meaning.contact === contact) return
    if (meaning?.isClaimed === false) {
      contact.absorb(meaning.contact, submission)
      this.#gone.push({ email, contact: meaning.contact })
    }
    this.#meanings.set(email, { contact, isClaimed: true, number })
    this.#note(email, contact, { number, isClaimed: true })
  }

  /** The contact that a feedback names by an email. */
  findOrCreate(email: string, { number, seenPosition = 0 }: Submission): Profile {
    const meaning = this.#meanings.get(email)
    if (meaning?.isClaimed === true) {
      // If the claim was not applied when the API answered, the answer may contain the own id of
      // the email.
      if (meaning.number > seenPosition) this.#addAlias(email, meaning.contact)
      return meaning.contact
    }
    if (meaning !== undefined) return meaning.contact
    const contact = this.profiles.findOrOpen(this.epochs.idOf(emailKey(this.realm, email)))
    this.#meanings.set(email, { contact, isClaimed: false, number })
    this.#note(email, contact, { number, isClaimed: false })
    return contact
  }

  writeTo(changes: Changes): void {
    for (const [email, holders] of this.#held)
      for (const [contact, { number, isClaimed }] of holders)
        if (contact.absorbedBy === null)
          changes.contact_email.push({ email, contact_id: contact.id, number, claimed: isClaimed })
    for (const { email, contact } of this.#gone)
      if (contact.isStored) changes.contact_email_gone.push({ email, contact_id: contact.id })
  }

  #addAlias(email: string, contact: Profile): void {
    const id = this.epochs.idOf(emailKey(this.realm, email))
    if (id !== contact.id) this.profiles.addAlias(id, contact)
  }

  #note(email: string, contact: Profile, holding: Holding): void {
    const holders = this.#held.get(email) ?? new Map<Profile, Holding>()
    this.#held.set(email, holders)
    const held = holders.get(contact)
    if (held === undefined || held.number < holding.number) holders.set(contact, holding)
  }
}
