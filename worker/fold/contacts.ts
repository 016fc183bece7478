import { contactIdKey, contactSourceKey, recordContactKey } from '../../contract/identity/keys.ts'
import { canonicalEmail, canonicalName } from '../../contract/identity/canonical.ts'
import type { Realm } from '../../contract/identity/own-id.ts'
import type { ContactRecord } from '../../contract/contact-record.ts'
import type { FeedbackRecord } from '../../contract/feedback-record.ts'
import type { JsonValue } from '../../contract/json.ts'
import type { Submission } from '../../contract/submission.ts'
import type { LoadedRow } from '../../db/apply/load.ts'
import type { Changes } from '../../db/apply/save.ts'
import type { Claims } from './claims.ts'
import { Emails } from './emails.ts'
import type { Epochs } from './epochs.ts'
import type { Profile } from './profile.ts'
import { identifiedValues, textOf } from './profile-values.ts'
import { Profiles } from './profiles.ts'
import type { Unresolved } from './unresolved.ts'

/** An external id in one of its sources. */
type SourceKey = { source: string; number: number; contact: Profile }
type NewKey = SourceKey & { key: string; externalId: string }
/**
 * A contact record of a submission. The contact is created in `defaultSource` if the record has no
 * source.
 */
export type Identified = { record: ContactRecord; defaultSource: string; submission: Submission; claims: Claims }

/** The contacts of a workspace and their external ids. */
export class Contacts {
  readonly realm: Realm
  readonly epochs: Epochs
  readonly unresolved: Unresolved
  readonly profiles = new Profiles('contact')
  readonly emails: Emails
  /** By the key of an external id in all sources; the oldest source comes first. */
  readonly #byExternalId = new Map<string, SourceKey[]>()
  readonly #newKeys: NewKey[] = []

  constructor(realm: Realm, epochs: Epochs, unresolved: Unresolved) {
    this.realm = realm
    this.epochs = epochs
    this.unresolved = unresolved
    this.emails = new Emails(realm, epochs, this.profiles)
  }

  /** Takes the loaded sources of external ids. */
  learnKeys(rows: readonly LoadedRow[]): void {
    const sources = Map.groupBy(
      rows.filter(({ kind }) => kind === 'contact_key'),
      ({ key }) => key,
    )
    for (const [key, own] of sources) {
      const keys = own.map((row) => ({ source: row.source!, number: row.number, contact: this.profiles.learn(row) }))
      this.#byExternalId.set(key, keys.toSorted(byAge))
    }
  }

  /**
   * The contact of a record: in its source, else the oldest of all sources. Creates it if there is
   * none.
   */
  findOrCreate({ record, defaultSource, submission: { number } }: Omit<Identified, 'claims'>): Profile {
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
   * Sets the values of the record, and claims its email. An older record only fills absent values.
   */
  identify(identified: Identified): { contact: Profile; isLate: boolean } {
    const { record, submission, claims } = identified
    const contact = this.findOrCreate(identified)
    const values = identifiedValues('contact', record)
    const email = canonicalEmail(textOf(values, 'email'))
    const isLate = contact.isNewerThan(values, submission)
    const isEmailFilled = isLate && email !== undefined && !contact.hasColumn('email')
    if (isLate) contact.fillIn(values, submission.number)
    else contact.identify(values, submission.number)
    if (email !== undefined)
      this.emails.claim({ email, contact, isLate, isEmailFilled, number: submission.number, claims })
    return { contact, isLate }
  }

  /** Searches all sources: the preferred one first, then the oldest. */
  findByKey(key: string, preferredSource: string): Profile | undefined {
    const sources = this.#byExternalId.get(key)
    return (sources?.find(({ source }) => source === preferredSource) ?? sources?.[0])?.contact
  }

  /** Finds the contact by email. With a name alone, the contact belongs to this feedback only. */
  findOrCreateFor(given: FeedbackRecord['contact'], feedbackId: string, submission: Submission): Profile | undefined {
    const email = canonicalEmail(given?.email ?? '')
    const name = canonicalName(given?.name ?? '')
    if (email === undefined && name === undefined) return undefined
    const contact =
      email === undefined
        ? this.profiles.findOrOpen(this.epochs.idOf(recordContactKey(this.realm, feedbackId)))
        : this.emails.findOrCreate(email, submission)
    const columns: Record<string, JsonValue> = {}
    if (email !== undefined) columns['email'] = given!.email!
    if (name !== undefined) columns['name'] = given!.name!
    contact.fillIn({ columns, properties: given?.sourceData ?? {} }, submission.number)
    return contact
  }

  writeTo(changes: Changes, w: number): void {
    this.profiles.writeTo(changes, w)
    this.emails.writeTo(changes, w)
    for (const { key, source, externalId, number, contact } of this.#newKeys)
      changes.contact_key.push({ w, key, source, external_id: externalId, contact: contact.id, number })
  }
}

const byAge = (a: SourceKey, b: SourceKey): number => a.number - b.number || (a.source < b.source ? -1 : 1)
