import type { Changes } from '../../db/apply/save.ts'
import type { Profile } from './profile.ts'

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

  wait(key: string): Link {
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

  writeTo(changes: Changes, w: number): void {
    for (const [key, profile] of this.#resolved) changes.resolved.push({ w, key, target: profile.current().id })
  }
}
