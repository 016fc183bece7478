import { instantOf } from '../contract/date-time.ts'
import { type JsonObject, type JsonValue, setMember } from '../contract/json.ts'
import { numberAtAcceptance, type Submission } from '../contract/submission.ts'
import type { StoredProfile } from './stored.ts'
import type { ProfileValues } from './profile-values.ts'

/** State that the fold needs and that was not loaded. */
export type MissingState =
  | { kind: 'contact' | 'account'; id: string; metadata: boolean }
  /** The epochs of all keys of the segment. */
  | { kind: 'epochs' }
  /** A feedback of a later epoch, and the contact that belongs to it alone. */
  | { kind: 'feedback'; id: string }
  /** The numbers and versions of the stored messages of a conversation. */
  | { kind: 'messages'; conversationId: string }

/**
 * Thrown when the fold needs epochs or messages that were not loaded. What it lacks of contacts and
 * accounts, it notes in `Profile.lacks`, and goes on: so one fold finds all of it. The worker then
 * loads this state and folds again. That is rare, so it costs less than to load the state for each
 * fold.
 */
export class Missing extends Error {
  readonly state: MissingState
  override readonly name = 'Missing'
  constructor(state: MissingState) {
    super(`The fold needs state that was not loaded: ${state.kind}.`)
    this.state = state
  }
}

/** The most metadata keys. Keys of the latest identify stay, then the first other keys by name. */
const MOST_PROPERTIES = 1_000

const NOT_LOADED: StoredProfile = {
  id: '',
  columns: {},
  first: 0,
  number: 0,
  updatedAt: null,
  properties: null,
  isLeftOut: false,
}

type Draft = { columns: Record<string, JsonValue>; properties: JsonObject; account: Profile | null }

/**
 * `saved`: the ids whose metadata an earlier part of this submission has saved. `lacking`: the
 * profiles that lack something.
 */
export type ProfileContext = {
  readonly kind: 'contact' | 'account'
  readonly saved: ReadonlySet<string>
  readonly lacking: Set<Profile>
}

/** A contact or account: the loaded row, and over it the draft with the changes of a stride. */
export class Profile {
  readonly kind: 'contact' | 'account'
  readonly id: string
  readonly isStored: boolean
  absorbedBy: Profile | null = null
  /**
   * The numbers of the first and last submission of the stride that changed the profile; 0 for
   * none. Absorbing lowers the first, except for the place in lists.
   */
  firstNumber = 0
  listedNumber = 0
  lastNumber = 0
  /** Of the submissions of the stride that changed the profile: the greatest number at acceptance. */
  newestNumber = 0
  readonly draft: Draft = { columns: {}, properties: {}, account: null }
  /** The draft has all metadata and replaces the stored metadata. */
  isTrimmed = false
  /** What the fold needed of the stored row and was not loaded. If so, the draft is wrong. */
  lacks: 'columns' | 'metadata' | undefined
  /** An earlier part of this submission has saved its metadata. */
  readonly isMetadataSaved: boolean
  readonly #lacking: Set<Profile>
  #stored: StoredProfile | undefined
  #properties: JsonObject | undefined
  #isLeftOut = false

  constructor({ kind, saved, lacking }: ProfileContext, id: string, isStored: boolean) {
    this.kind = kind
    this.id = id
    this.isStored = isStored
    this.isMetadataSaved = saved.has(id)
    this.#lacking = lacking
  }

  /** Takes the stored row. Several keys can lead to it, and one of them with its metadata. */
  learn(stored: StoredProfile): void {
    this.#stored ??= stored
    this.#properties ??= stored.properties ?? undefined
    this.#isLeftOut ||= stored.isLeftOut
  }

  get hasMetadata(): boolean {
    return this.#properties !== undefined
  }

  /** The load had too much metadata, and left this out. */
  get isLeftOut(): boolean {
    return this.#isLeftOut && this.#properties === undefined
  }

  /** The profile itself, or the one that has absorbed it. */
  current(): Profile {
    return this.absorbedBy === null ? this : this.absorbedBy.current()
  }

  /** Sets all given values; null clears a column. */
  identify({ columns, properties }: ProfileValues, submission: Submission): void {
    Object.assign(this.draft.columns, columns)
    this.#touch(submission)
    if (this.isMetadataSaved) return
    const keys = Object.keys(properties)
    for (const key of keys) setMember(this.draft.properties, key, properties[key]!)
    // A save has found too many keys, so the load has asked for the metadata.
    if (this.isLeftOut) this.#lack('metadata')
    if (this.#countProperties() <= MOST_PROPERTIES) return
    const given = new Set(keys)
    const others = Object.keys(this.allProperties()).filter((key) => !given.has(key))
    this.#keepOnly([...keys.toSorted(), ...others.toSorted()].slice(0, MOST_PROPERTIES))
  }

  /** Fills absent values. A metadata key with the value null counts as present. */
  fillIn({ columns, properties }: ProfileValues, submission: Submission): void {
    const free = Object.keys(columns).filter((column) => columns[column] !== null && !this.hasColumn(column))
    for (const column of free) this.draft.columns[column] = columns[column]!
    const keys = this.isMetadataSaved ? [] : Object.keys(properties).filter((key) => !this.#hasProperty(key))
    const slots = keys.length === 0 ? 0 : Math.max(0, MOST_PROPERTIES - this.#countProperties())
    const added = keys.toSorted().slice(0, slots)
    for (const key of added) setMember(this.draft.properties, key, properties[key]!)
    if (free.length > 0 || added.length > 0 || (!this.isStored && this.firstNumber === 0)) this.#touch(submission)
  }

  /** Absorbs a contact or account that was known by a weak key alone. */
  absorb(other: Profile, submission: Submission): void {
    if (other.isStored && !other.hasMetadata) other.#lack('metadata')
    const columns = { ...other.#stored?.columns, ...other.draft.columns }
    this.fillIn({ columns, properties: other.allProperties() }, submission)
    this.#touch(submission)
    const numbers = [this.firstNumber, other.firstNumber, other.#stored?.first ?? 0]
    this.firstNumber = Math.min(...numbers.filter((first) => first > 0))
    other.absorbedBy = this
  }

  /**
   * Whether this profile is newer than an identify: it has a later `$updatedAt`, or the identify is
   * a replay and a submission that was accepted after the original has changed the profile.
   */
  isNewerThan({ columns }: ProfileValues, { originalNumber }: Submission): boolean {
    if (originalNumber !== undefined && this.#newest() > originalNumber) return true
    const given = columns['source_updated_at']
    if (typeof given !== 'string') return false
    const held = this.#version()
    return held !== null && instantOf(given) < held
  }

  hasColumn(column: string): boolean {
    const changed = this.draft.columns[column]
    if (changed !== undefined) return changed !== null
    return this.isStored && Object.hasOwn(this.#loaded().columns, column)
  }

  /** For contacts only. */
  hasAccount(): boolean {
    if (this.draft.account !== null) return true
    return this.isStored && this.#loaded().accountId != null
  }

  /** All metadata. The stored metadata must be loaded. */
  allProperties(): JsonObject {
    return { ...this.#properties, ...this.draft.properties }
  }

  #lack(what: 'columns' | 'metadata'): void {
    if (this.lacks !== 'columns') this.lacks = what
    this.#lacking.add(this)
  }

  /** Links a contact to an account. */
  linkAccount(account: Profile, submission: Submission): void {
    this.draft.account = account
    this.#touch(submission)
  }

  #touch(submission: Submission): void {
    if (this.firstNumber === 0) this.firstNumber = this.listedNumber = submission.number
    this.lastNumber = submission.number
    this.newestNumber = Math.max(this.newestNumber, numberAtAcceptance(submission))
  }

  #loaded(): StoredProfile {
    if (this.#stored === undefined) this.#lack('columns')
    return this.#stored ?? NOT_LOADED
  }

  /** As `newestNumber`, for all submissions. */
  #newest(): number {
    return this.isStored ? Math.max(this.newestNumber, this.#loaded().number) : this.newestNumber
  }

  #version(): number | null {
    const changed = this.draft.columns['source_updated_at']
    if (changed !== undefined) return typeof changed === 'string' ? instantOf(changed) : null
    return this.isStored ? this.#loaded().updatedAt : null
  }

  #hasProperty(key: string): boolean {
    if (Object.hasOwn(this.draft.properties, key)) return true
    if (!this.isStored) return false
    if (this.#properties === undefined) this.#lack('metadata')
    return this.#properties === undefined || Object.hasOwn(this.#properties, key)
  }

  /** 0 if the stored metadata is not loaded: `save` then reports if there are too many keys. */
  #countProperties(): number {
    return this.isStored && this.#properties === undefined ? 0 : Object.keys(this.allProperties()).length
  }

  #keepOnly(keys: readonly string[]): void {
    const all = this.allProperties()
    const kept: JsonObject = {}
    for (const key of keys) setMember(kept, key, all[key]!)
    this.draft.properties = kept
    this.#properties = {}
    this.isTrimmed = true
  }
}
