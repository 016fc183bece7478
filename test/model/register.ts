import { asOwnId } from '../../contract/identity/own-id.ts'
import { openProfile, type Profile } from './profile.ts'

/** Who a feedback or message belongs to. Nobody, as long as the external id that it names is unknown. */
export type Link = { profile: Profile | null }

/** All contacts, or all accounts, of a workspace. */
export type Register = {
  /** By own id, also those that were absorbed. */
  readonly profiles: Map<string, Profile>
  /** Links that wait for somebody with an external id. */
  readonly awaiting: Map<string, Link[]>
}

export const openRegister = (): Register => ({ profiles: new Map(), awaiting: new Map() })

export const findOrOpen = (register: Register, id: string, number: number): Profile => {
  const profile = register.profiles.get(id) ?? openProfile(id, number)
  register.profiles.set(id, profile)
  return profile
}

/** Claims of one submission, by what is claimed: of several on the same the last counts, as if it were the only one. */
export type Claims = Map<string, () => void>

/** A key that never stood for anybody of its own belongs to whoever had it first, and so does its own id. */
export const giveOwnId = (register: Register, id: string, profile: Profile): void => {
  if (!register.profiles.has(id)) register.profiles.set(id, profile)
}

export const findByOwnId = (register: Register, id: string): Profile | undefined =>
  register.profiles.get(asOwnId(id) ?? '')

/** To be called when somebody gets an external id that nobody had, in whatever source. */
export const linkAwaiting = (register: Register, externalId: string, profile: Profile): void => {
  for (const link of register.awaiting.get(externalId) ?? []) link.profile = profile
  register.awaiting.delete(externalId)
}

export const awaitExternalId = (register: Register, externalId: string): Link => {
  const link: Link = { profile: null }
  register.awaiting.set(externalId, [...(register.awaiting.get(externalId) ?? []), link])
  return link
}

/** What a feedback says about its contact or its account. */
export type Reference = {
  /** `contactId` and `contact.id`, or those of the account. */
  ids: readonly (string | null | undefined)[]
  external: boolean
  findByExternalId: (externalId: string) => Profile | undefined
  /** Undefined when the reference has nothing to find anybody by. */
  findOrCreate: () => Profile | undefined
}

/** The ids are tried in turn; then the other keys, and only then is there somebody to create or an id to remember. */
export const follow = (register: Register, reference: Reference): Link => {
  const ids = reference.ids.filter((id) => id != null)
  for (const id of ids) {
    const profile = reference.external ? reference.findByExternalId(id) : findByOwnId(register, id)
    if (profile) return { profile }
  }
  const profile = reference.findOrCreate()
  if (profile) return { profile }
  const last = ids.at(-1)
  return reference.external && last !== undefined ? awaitExternalId(register, last) : { profile: null }
}
