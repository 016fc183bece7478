import { asUuid, idOfEpoch } from '../contract/identity/keys.ts'
import type { Changes } from './changes.ts'
import { Missing, Profile, type ProfileContext } from './profile.ts'
import type { StoredProfile, StoredState, WantedKeys } from './stored.ts'

/** The contacts or the accounts that a stride names, by own id. */
export class Profiles {
  readonly kind: 'contact' | 'account'
  readonly #context: ProfileContext
  readonly #profiles = new Map<string, Profile>()
  /** Profiles by alias. */
  readonly #aliases = new Map<string, Profile>()
  readonly #newAliases = new Map<string, Profile>()

  constructor(context: ProfileContext) {
    this.kind = context.kind
    this.#context = context
  }

  /** Takes a stored profile. An external id can come with the own id alone. */
  learn({ id, profile: stored }: { id: string; profile?: StoredProfile }): Profile {
    let profile = this.#profiles.get(id)
    if (profile === undefined) this.#profiles.set(id, (profile = new Profile(this.#context, id, true)))
    if (stored !== undefined) profile.learn(stored)
    return profile
  }

  /** Takes a profile that was requested by own id or alias. */
  learnById(key: string, stored: StoredProfile): void {
    const profile = this.learn({ id: stored.id, profile: stored })
    if (key !== stored.id) this.#aliases.set(key, profile)
  }

  /** The profile that an own id means now. */
  find(id: string): Profile | undefined {
    const own = asUuid(id)
    return own === undefined ? undefined : (this.#profiles.get(own) ?? this.#aliases.get(own))?.current()
  }

  findOrOpen(id: string): Profile {
    let profile = this.#profiles.get(id)
    if (profile === undefined) this.#profiles.set(id, (profile = new Profile(this.#context, id, false)))
    return profile
  }

  /** Makes the id an alias of this profile, unless the id means a profile already. */
  addAlias(id: string, profile: Profile): void {
    if (this.#profiles.has(id) || this.#aliases.has(id)) return
    this.#aliases.set(id, profile)
    this.#newAliases.set(id, profile)
  }

  writeTo(changes: Changes): void {
    for (const profile of this.#profiles.values()) {
      // A profile that was never stored gets a tombstone as well: a consumer of the feed may have
      // seen it before a failover.
      if (profile.absorbedBy !== null)
        changes[`${this.kind}_gone`].push({ id: profile.id, target: profile.current().id })
      else if (profile.lastNumber > 0) this.#writeChanged(changes, profile)
    }
    for (const [id, profile] of this.#newAliases) {
      const target = profile.current().id
      if (this.kind === 'contact') changes.contact_alias.push({ id, contact_id: target })
      else changes.account_alias.push({ id, account_id: target })
    }
  }

  /**
   * Each profile with the ones that it absorbs, if some of their metadata is loaded or lacking, and no
   * earlier part has saved it.
   */
  groups(): ProfileGroup[] {
    const groups = Map.groupBy(this.#profiles.values(), (profile) => profile.current())
    return [...groups].flatMap(([root, members]) =>
      root.isMetadataSaved || !members.some(({ hasMetadata, lacks }) => hasMetadata || lacks !== undefined)
        ? []
        : { root, members },
    )
  }

  /** Writes the metadata of a profile alone. */
  writeMetadata(changes: Changes, profile: Profile): void {
    const { id, isTrimmed, draft } = profile
    if (profile.lastNumber === 0 || (!isTrimmed && isEmpty(draft.properties))) return
    changes[this.kind].push({
      id,
      properties: draft.properties,
      ...(isTrimmed && { has_all_properties: true }),
      ...numbersOf(profile),
    })
  }

  #writeChanged(changes: Changes, profile: Profile): void {
    const { id, isTrimmed, draft } = profile
    const isWithout = !isTrimmed && isEmpty(draft.properties)
    changes[this.kind].push({
      ...draft.columns,
      id,
      ...(!isWithout && { properties: draft.properties }),
      ...(isTrimmed && { has_all_properties: true }),
      ...(draft.account !== null && { account_id: draft.account.current().id }),
      ...numbersOf(profile),
    })
  }
}

/** The numbers of submissions in a row. Two of them are left out if they follow from the others. */
const numbersOf = ({ firstNumber, listedNumber, lastNumber, newestNumber }: Profile) => ({
  first_number: firstNumber,
  listed_number: listedNumber === firstNumber ? undefined : listedNumber,
  number: lastNumber,
  newest_number: newestNumber === lastNumber ? undefined : newestNumber,
})

/** `root`: the profile that absorbs the other members. */
type ProfileGroup = { root: Profile; members: readonly Profile[] }

const isEmpty = (object: object): boolean => {
  for (const _ in object) return false
  return true
}

/** The contact or account of a record: a profile, the key of an unknown external id, or neither. */
export type Link = { profile: Profile | null; awaits: string | null }

/** A link to a profile, or to none. */
export const linkTo = (profile: Profile | undefined): Link => ({ profile: profile ?? null, awaits: null })

/** External ids that records name and that no contact or account has yet. */
export class Unresolved {
  /** Links of this stride, by the key that they wait for. */
  readonly #waiting = new Map<string, Link[]>()
  /** Keys that a contact or account got in this stride. Earlier records may wait for them. */
  readonly #resolved = new Map<string, Profile>()

  linkWhenKnown(key: string): Link {
    const link: Link = { profile: null, awaits: key }
    const waiting = this.#waiting.get(key)
    if (waiting) waiting.push(link)
    else this.#waiting.set(key, [link])
    return link
  }

  resolve(key: string, profile: Profile): void {
    for (const link of this.#waiting.get(key) ?? []) {
      link.profile = profile
      link.awaits = null
    }
    this.#waiting.delete(key)
    this.#resolved.set(key, profile)
  }

  writeTo(changes: Changes): void {
    for (const [key, profile] of this.#resolved) changes.resolved.push({ key_id: key, target: profile.current().id })
  }
}

type Claim = {
  /** The claiming identify is late. */
  isLate: boolean
  apply: () => void
  /** Called when another claim of the same submission counts instead of this one. */
  displace?: () => void
}

/**
 * The claims of one submission, by claimed email, domain or name. They take effect at the end of
 * the submission. For each value, the last claim that is not late counts, else the first claim.
 */
export class Claims {
  readonly #claims = new Map<string, Claim>()

  set(claimed: string, claim: Claim): void {
    const former = this.#claims.get(claimed)
    if (former !== undefined && claim.isLate) {
      claim.displace?.()
      return
    }
    former?.displace?.()
    this.#claims.set(claimed, claim)
  }

  applyAll(): void {
    for (const { apply } of this.#claims.values()) apply()
  }
}

/** The epochs of keys: how often each key was purged. */
export class Epochs {
  readonly #epochs = new Map<string, number>()
  #hadPurges = false

  learn({ hadPurges, rows }: StoredState, { epoch }: WantedKeys): void {
    this.#hadPurges ||= hadPurges
    for (const key of epoch.keys()) if (!this.#epochs.has(key)) this.#epochs.set(key, 0)
    for (const row of rows) if (row.kind === 'epoch') this.#epochs.set(row.key, row.epoch)
  }

  /** The current own id of a key. Each purge of the key changes the own id. */
  idOf(key: string): string {
    if (!this.#hadPurges) return key
    const epoch = this.#epochs.get(key)
    if (epoch === undefined) throw new Missing({ kind: 'epochs' })
    return idOfEpoch(key, epoch)
  }
}
