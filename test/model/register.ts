import { asUuid } from '../../contract/identity/keys.ts'
import { type Moment, openProfile, type Profile } from './profile.ts'

/** The contact, account or project of a record. Null without one, or while the id is unknown. */
export type Link = { profile: Profile | null }

/** All contacts, all accounts or all projects of a workspace. */
export type Register = {
  /** By own id, including ids of merged profiles and ids that an answer may have had. */
  readonly profiles: Map<string, Profile>
  /** Links of records that name an unknown external id. */
  readonly awaiting: Map<string, Link[]>
}

export const openRegister = (): Register => ({ profiles: new Map(), awaiting: new Map() })

export const findOrOpen = (register: Register, id: string, moment: Moment): Profile => {
  const profile = register.profiles.get(id) ?? openProfile(id, moment)
  register.profiles.set(id, profile)
  return profile
}

/** A claim of a weak key. A late claim takes effect only while the key is unclaimed. */
type Claim = { key: string; isLate: boolean; apply: () => void }

/** The claims of one submission by key: the last claim that is not late, or else the first. */
export type Claims = Map<string, () => void>

export const noteClaim = (claims: Claims, { key, isLate, apply }: Claim): void => {
  if (isLate && claims.has(key)) return
  claims.set(key, apply)
}

export const findByOwnId = (register: Register, id: string): Profile | undefined =>
  register.profiles.get(asUuid(id) ?? '')

/** Links the records that named an external id before a profile had it. */
export const linkAwaiting = (register: Register, externalId: string, profile: Profile): void => {
  for (const link of register.awaiting.get(externalId) ?? []) link.profile = profile
  register.awaiting.delete(externalId)
}

export const awaitExternalId = (register: Register, externalId: string): Link => {
  const link: Link = { profile: null }
  register.awaiting.set(externalId, [...(register.awaiting.get(externalId) ?? []), link])
  return link
}

/** The contact, account or project that a feedback names. */
type Reference = {
  /** `contactId` and `contact.id`, or those of the account or project. */
  ids: readonly (string | null | undefined)[]
  isExternal: boolean
  findByExternalId: (externalId: string) => Profile | undefined
  /** Undefined if the reference has no weak key. */
  findOrCreate: () => Profile | undefined
}

/**
 * Tries the ids in turn, then the weak keys. Remembers an unknown external id only if the reference
 * has no weak key.
 */
export const follow = (register: Register, reference: Reference): Link => {
  const ids = reference.ids.filter((id) => id != null)
  for (const id of ids) {
    const profile = reference.isExternal ? reference.findByExternalId(id) : findByOwnId(register, id)
    if (profile) return { profile }
  }
  const profile = reference.findOrCreate()
  if (profile) return { profile }
  const last = ids.at(-1)
  return reference.isExternal && last !== undefined ? awaitExternalId(register, last) : { profile: null }
}
