import { asOwnId } from '../../contract/identity/own-id.ts'
import type { LoadedRow } from '../../db/apply/load.ts'
import type { Changes } from '../../db/apply/save.ts'
import { Profile } from './profile.ts'

/** The contacts or the accounts of a workspace that strides name, by own id. */
export class Profiles {
  readonly kind: 'contact' | 'account'
  readonly #profiles = new Map<string, Profile>()
  /** Aliases: own ids of absorbed profiles. */
  readonly #aliases = new Map<string, Profile>()
  readonly #newAliases = new Map<string, Profile>()

  constructor(kind: 'contact' | 'account') {
    this.kind = kind
  }

  /** Takes a loaded row about a profile. */
  learn(row: LoadedRow): Profile {
    let profile = this.#profiles.get(row.id)
    if (profile === undefined) this.#profiles.set(row.id, (profile = new Profile(this.kind, row.id, true)))
    if (row.kind !== 'contact_key' && row.kind !== 'account_key') profile.learn(row)
    return profile
  }

  /** Takes a row that was requested by own id, which may be an alias. */
  learnById(row: LoadedRow): void {
    const profile = this.learn(row)
    if (row.key !== row.id) this.#aliases.set(row.key, profile)
  }

  /** The profile that an own id means now. */
  find(id: string): Profile | undefined {
    const own = asOwnId(id)
    return own === undefined ? undefined : (this.#profiles.get(own) ?? this.#aliases.get(own))?.current()
  }

  findOrOpen(id: string): Profile {
    let profile = this.#profiles.get(id)
    if (profile === undefined) this.#profiles.set(id, (profile = new Profile(this.kind, id, false)))
    return profile
  }

  /** Makes the id an alias of this profile, unless the id means a profile already. */
  addAlias(id: string, profile: Profile): void {
    if (this.#profiles.has(id) || this.#aliases.has(id)) return
    this.#aliases.set(id, profile)
    this.#newAliases.set(id, profile)
  }

  writeTo(changes: Changes, w: number): void {
    for (const profile of this.#profiles.values()) {
      // A profile that was never stored gets a tombstone as well: readers may have seen it before a
      // failover.
      if (profile.absorbedBy !== null)
        changes[`${this.kind}_gone`].push({ w, id: profile.id, target: profile.current().id })
      else if (profile.lastNumber > 0) this.#writeChanged(changes, w, profile)
    }
    for (const [id, profile] of this.#newAliases)
      changes[`${this.kind}_alias`].push({ w, id, target: profile.current().id })
  }

  #writeChanged(changes: Changes, w: number, { id, isTrimmed, draft, firstNumber, lastNumber }: Profile): void {
    const isWithout = !isTrimmed && isEmpty(draft.properties)
    changes[this.kind].push({
      w,
      id,
      columns: draft.columns,
      ...(!isWithout && { [isTrimmed ? 'all_properties' : 'properties']: draft.properties }),
      account: draft.account?.current().id,
      first_number: firstNumber,
      number: lastNumber,
    })
  }
}

const isEmpty = (object: object): boolean => {
  for (const _ in object) return false
  return true
}
