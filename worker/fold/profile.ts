import { setMember, type JsonObject, type JsonValue } from '../../contract/json.ts'
import type { Submission } from '../../contract/submission.ts'
import { PRESENCE, type LoadedRow, type WholeProfile } from '../../db/apply/load.ts'
import { instantOf } from './instants.ts'
import { Missing } from './missing.ts'
import type { Values } from './profile-values.ts'

/** Beyond that many metadata keys those of the latest identify stay, then the first by name. */
const MOST_PROPERTIES = 1_000

type Draft = { columns: Record<string, JsonValue>; properties: JsonObject; account: Profile | null }
const emptyDraft = (): Draft => ({ columns: {}, properties: {}, account: null })

/**
 * A contact or account. It has up to three layers, the later over the earlier: what is stored, as
 * far as that was loaded; what earlier strides of a session changed, which may not be stored yet
 * where the rest was loaded; and what this stride changes.
 */
export class Profile {
  readonly kind: 'contact' | 'account'
  readonly id: string
  isStored: boolean
  absorbedBy: Profile | null = null
  /** It was absorbed, and that is saved. */
  isGone = false
  /** The first and the last submission of this stride that changed it; 0 for none. */
  firstNumber = 0
  lastNumber = 0
  draft = emptyDraft()
  /** The draft has all metadata, and replaces what is stored. */
  isTrimmed = false
  /** The one before the last. */
  #priorNumber = 0
  #earlier = emptyDraft()
  #earlierNumber = 0
  #stored: { presence: number; version: number | null } | undefined
  #storedNumber: number | undefined
  #whole: WholeProfile | undefined

  constructor(kind: 'contact' | 'account', id: string, isStored: boolean) {
    this.kind = kind
    this.id = id
    this.isStored = isStored
  }

  /** Takes what is loaded of it. What is known already may be newer. */
  learn({ kind, presence, version, number, whole }: LoadedRow): void {
    this.#stored ??= { presence, version }
    // The number of an email's row is that of its claim.
    if (kind === 'contact' || kind === 'account') this.#storedNumber ??= number
    this.#whole ??= whole ?? undefined
  }

  /** What it is now that others may have absorbed it. */
  current(): Profile {
    return this.absorbedBy === null ? this : this.absorbedBy.current()
  }

  /** Each value that is given replaces the one there is; null clears a column. */
  identify({ columns, properties }: Values, number: number): void {
    Object.assign(this.draft.columns, columns)
    const keys = Object.keys(properties)
    for (const key of keys) setMember(this.draft.properties, key, properties[key]!)
    this.#touch(number)
    if (this.#countProperties() <= MOST_PROPERTIES) return
    const given = new Set(keys)
    const others = Object.keys(this.allProperties()).filter((key) => !given.has(key))
    this.#keepOnly([...keys.toSorted(), ...others.toSorted()].slice(0, MOST_PROPERTIES))
  }

  /** Values only fill what has no value. A metadata key that is null has one. */
  fillIn({ columns, properties }: Values, number: number): void {
    const free = Object.keys(columns).filter((column) => columns[column] !== null && !this.hasColumn(column))
    for (const column of free) this.draft.columns[column] = columns[column]!
    const keys = Object.keys(properties).filter((key) => !this.#hasProperty(key))
    const room = keys.length === 0 ? 0 : Math.max(0, MOST_PROPERTIES - this.#countProperties())
    const added = keys.toSorted().slice(0, room)
    for (const key of added) setMember(this.draft.properties, key, properties[key]!)
    if (free.length > 0 || added.length > 0 || (!this.isStored && this.firstNumber === 0)) this.#touch(number)
  }

  /** Takes over a contact or account that was known by a weak key alone. */
  absorb(other: Profile, number: number): void {
    if (other.isStored && other.#whole === undefined) throw other.#missing()
    const columns = { ...other.#whole?.columns, ...other.#earlier.columns, ...other.draft.columns }
    this.fillIn({ columns, properties: other.allProperties() }, number)
    this.#touch(number)
    const numbers = [this.firstNumber, other.firstNumber, other.#whole?.first ?? 0]
    this.firstNumber = Math.min(...numbers.filter((first) => first > 0))
    other.absorbedBy = this
  }

  /**
   * Whether an identify says something older than what there is: by its `$updatedAt`, if both have
   * one, or because it is a replay and something newer than its original has changed this since.
   */
  isNewerThan({ columns }: Values, { number, originalNumber }: Submission): boolean {
    if (originalNumber !== undefined && this.#numberBefore(number) > originalNumber) return true
    const given = columns['source_updated_at']
    if (typeof given !== 'string') return false
    const held = this.#version()
    return held !== null && instantOf(given) < held
  }

  hasColumn(column: string): boolean {
    const changed = this.#changedColumn(column)
    if (changed !== undefined) return changed !== null
    return this.isStored && (this.#loaded().presence & PRESENCE[column]!) !== 0
  }

  /** Of a contact. */
  hasAccount(): boolean {
    if (this.draft.account !== null || this.#earlier.account !== null) return true
    return this.isStored && (this.#loaded().presence & PRESENCE['account']!) !== 0
  }

  /** All metadata. What is stored of it has to be known. */
  allProperties(): JsonObject {
    return { ...this.#whole?.properties, ...this.#earlier.properties, ...this.draft.properties }
  }

  /**
   * The stride is being saved: what it changed is what there is, for the next stride of a session.
   */
  beginNextStride(): void {
    if (this.lastNumber === 0) return
    if (!this.isStored) {
      this.#whole = { first: this.firstNumber, columns: {}, properties: {} }
      this.#stored = { presence: 0, version: null }
    }
    Object.assign(this.#earlier.columns, this.draft.columns)
    for (const key of Object.keys(this.draft.properties))
      setMember(this.#earlier.properties, key, this.draft.properties[key]!)
    this.#earlier.account = this.draft.account ?? this.#earlier.account
    this.#earlierNumber = this.lastNumber
    this.draft = emptyDraft()
    this.firstNumber = 0
    this.lastNumber = 0
    this.#priorNumber = 0
    this.isStored = true
    this.isTrimmed = false
  }

  #missing(): Missing {
    return new Missing({ kind: this.kind, id: this.id })
  }

  /** The account of a contact. */
  linkAccount(account: Profile, number: number): void {
    this.draft.account = account
    this.#touch(number)
  }

  #touch(number: number): void {
    if (this.lastNumber === number) return
    if (this.firstNumber === 0) this.firstNumber = number
    this.#priorNumber = this.lastNumber
    this.lastNumber = number
  }

  #loaded(): { presence: number; version: number | null } {
    if (this.#stored === undefined) throw this.#missing()
    return this.#stored
  }

  /** The last submission before this one that changed it. */
  #numberBefore(number: number): number {
    const changed = this.lastNumber === number ? this.#priorNumber : this.lastNumber
    if (changed > 0) return changed
    if (this.#earlierNumber > 0) return this.#earlierNumber
    if (!this.isStored) return 0
    if (this.#storedNumber === undefined) throw this.#missing()
    return this.#storedNumber
  }

  #changedColumn(column: string): JsonValue | undefined {
    const changed = this.draft.columns[column]
    return changed === undefined ? this.#earlier.columns[column] : changed
  }

  #version(): number | null {
    const changed = this.#changedColumn('source_updated_at')
    if (changed !== undefined) return typeof changed === 'string' ? instantOf(changed) : null
    return this.isStored ? this.#loaded().version : null
  }

  #hasProperty(key: string): boolean {
    if (Object.hasOwn(this.draft.properties, key) || Object.hasOwn(this.#earlier.properties, key)) return true
    if (!this.isStored) return false
    if (this.#whole === undefined) throw this.#missing()
    return Object.hasOwn(this.#whole.properties, key)
  }

  /** 0 where what is stored is not known: saving tells if there are too many. */
  #countProperties(): number {
    return this.isStored && this.#whole === undefined ? 0 : Object.keys(this.allProperties()).length
  }

  #keepOnly(keys: readonly string[]): void {
    const all = this.allProperties()
    const kept: JsonObject = {}
    for (const key of keys) setMember(kept, key, all[key]!)
    this.draft.properties = kept
    if (this.#whole !== undefined) this.#whole = { ...this.#whole, properties: {} }
    this.#earlier.properties = {}
    this.isTrimmed = true
  }
}
