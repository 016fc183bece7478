import { emailKey } from '../../contract/identity/keys.ts'
import type { Realm } from '../../contract/identity/own-id.ts'
import type { Submission } from '../../contract/submission.ts'
import type { LoadedRow } from '../../db/apply/load.ts'
import type { Changes } from '../../db/apply/save.ts'
import type { Claims } from './claims.ts'
import type { Epochs } from './epochs.ts'
import type { Profile } from './profile.ts'
import type { Profiles } from './profiles.ts'

/** The contact that an email means. Without a claim it is anonymous: known by this email alone. */
type Meaning = { contact: Profile; isClaimed: boolean; number: number }
/** The number of the claim by which a contact holds an email. */
type Holding = { number: number; isClaimed: boolean }
/** `isEmailFilled`: a late identify filled the email column. */
type Claim = {
  email: string
  contact: Profile
  isLate: boolean
  isEmailFilled: boolean
  number: number
  claims: Claims
}

/**
 * The number for a contact whose column holds an email that means another contact, so that a purge
 * by the email finds it.
 */
const HOLDS_ONLY = 0

/** Emails in canonical form. */
export class Emails {
  readonly realm: Realm
  readonly epochs: Epochs
  readonly profiles: Profiles
  readonly #meanings = new Map<string, Meaning>()
  /** The changes, by email. */
  readonly #held = new Map<string, Map<Profile, Holding>>()
  readonly #gone: { email: string; contact: Profile }[] = []

  constructor(realm: Realm, epochs: Epochs, profiles: Profiles) {
    this.realm = realm
    this.epochs = epochs
    this.profiles = profiles
  }

  learn(row: LoadedRow): void {
    this.#meanings.set(row.key, { contact: this.profiles.learn(row), isClaimed: row.claimed, number: row.number })
  }

  /**
   * An identify claims an email for a contact. A late identify claims it only if no other contact
   * has.
   */
  claim({ email, contact, isLate, isEmailFilled, number, claims }: Claim): void {
    const holdOnly = (): void => {
      if (!isLate || isEmailFilled) this.#note(email, contact, { number: HOLDS_ONLY, isClaimed: true })
    }
    const apply = (): void => {
      if (isLate && this.#meanings.get(email)?.isClaimed === true) holdOnly()
      else this.#give(email, contact, number)
    }
    claims.set(`email ${email}`, { isLate, apply, displace: holdOnly })
  }

  /** The latest claim counts. The first claim absorbs the anonymous contact of the email. */
  #give(email: string, contact: Profile, number: number): void {
    const meaning = this.#meanings.get(email)
    if (meaning?.isClaimed === true && meaning.contact === contact) return
    if (meaning?.isClaimed === false) {
      contact.absorb(meaning.contact, number)
      this.#gone.push({ email, contact: meaning.contact })
    }
    this.#meanings.set(email, { contact, isClaimed: true, number })
    this.#note(email, contact, { number, isClaimed: true })
  }

  /** The contact that a feedback names by an email. */
  findOrCreate(email: string, submission: Submission): Profile {
    const meaning = this.#meanings.get(email)
    if (meaning?.isClaimed === true) {
      // The answer to the submission may contain the own id of the email, if the claim was not
      // applied then.
      if (meaning.number > seenBy(submission)) this.#addAlias(email, meaning.contact)
      return meaning.contact
    }
    const { number } = submission
    if (meaning !== undefined) return meaning.contact
    const contact = this.profiles.findOrOpen(this.epochs.idOf(emailKey(this.realm, email)))
    this.#meanings.set(email, { contact, isClaimed: false, number })
    this.#note(email, contact, { number, isClaimed: false })
    return contact
  }

  writeTo(changes: Changes, w: number): void {
    for (const [email, holders] of this.#held)
      for (const [contact, { number, isClaimed }] of holders)
        if (contact.absorbedBy === null)
          changes.email.push({ w, email, contact: contact.id, number, claimed: isClaimed })
    for (const { email, contact } of this.#gone)
      if (contact.isStored) changes.email_gone.push({ w, email, contact: contact.id })
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

/** The position when the submission was answered. A replay was answered long before. */
const seenBy = ({ seenPosition = 0, originalNumber }: Submission): number =>
  originalNumber === undefined ? seenPosition : 0
