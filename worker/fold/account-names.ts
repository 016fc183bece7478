import { accountNameKey, domainKey } from '../../contract/identity/keys.ts'
import type { Realm } from '../../contract/identity/own-id.ts'
import type { LoadedRow } from '../../db/apply/load.ts'
import type { Changes } from '../../db/apply/save.ts'
import type { Profile } from './profile.ts'
import type { Profiles } from './profiles.ts'

/**
 * The account that a domain means. Without a claim it is anonymous: known by this domain or a name
 * alone.
 */
type DomainMeaning = { account: Profile; isClaimed: boolean }
/** The account that a name means; `linked`: the account of the domain that it came with. */
type NameMeaning = { kind: 'claimed' | 'anonymous'; account: Profile } | { kind: 'linked'; domain: string }
type Claim = { account: Profile; isLate: boolean; number: number }

/** Domains and names of accounts, in canonical form. */
export class AccountNames {
  readonly realm: Realm
  readonly profiles: Profiles
  readonly #domains = new Map<string, DomainMeaning>()
  readonly #names = new Map<string, NameMeaning>()
  readonly #changedDomains = new Set<string>()
  readonly #changedNames = new Set<string>()

  constructor(realm: Realm, profiles: Profiles) {
    this.realm = realm
    this.profiles = profiles
  }

  learnDomain(row: LoadedRow): void {
    this.#domains.set(row.key, { account: this.profiles.learn(row), isClaimed: row.claimed })
  }

  /**
   * The row of a linked name has the account of its domain, and tells whether the domain is
   * claimed.
   */
  learnName(row: LoadedRow): void {
    const account = this.profiles.learn(row)
    if (row.domain === null) this.#names.set(row.key, { kind: row.claimed ? 'claimed' : 'anonymous', account })
    else {
      this.#names.set(row.key, { kind: 'linked', domain: row.domain })
      if (!this.#domains.has(row.domain)) this.#domains.set(row.domain, { account, isClaimed: row.claimed })
    }
  }

  /**
   * The latest claim counts. The first claim absorbs the anonymous account of the domain. A late
   * claim gives way to any other.
   */
  claimDomain(domain: string, { account, isLate, number }: Claim): void {
    const meaning = this.#domains.get(domain)
    if (meaning?.isClaimed === true && (isLate || meaning.account === account)) return
    if (meaning?.isClaimed === false) account.absorb(meaning.account, number)
    this.#domains.set(domain, { account, isClaimed: true })
    this.#changedDomains.add(domain)
  }

  /** Follows the rules of `claimDomain`. A linked name has no anonymous account to absorb. */
  claimName(name: string, { account, isLate, number }: Claim): void {
    const meaning = this.#names.get(name)
    if (meaning?.kind === 'claimed' && (isLate || meaning.account === account)) return
    if (meaning?.kind === 'anonymous') account.absorb(meaning.account, number)
    this.#names.set(name, { kind: 'claimed', account })
    this.#changedNames.add(name)
  }

  findOrCreateByDomain(domain: string): Profile {
    const meaning = this.#domains.get(domain)
    if (meaning !== undefined) return meaning.account
    const account = this.profiles.findOrOpen(domainKey(this.realm, domain))
    this.#domains.set(domain, { account, isClaimed: false })
    this.#changedDomains.add(domain)
    return account
  }

  findOrCreateByName(name: string): Profile {
    const meaning = this.#names.get(name)
    if (meaning?.kind === 'linked') return this.findOrCreateByDomain(meaning.domain)
    if (meaning !== undefined) return meaning.account
    const account = this.profiles.findOrOpen(accountNameKey(this.realm, name))
    this.#names.set(name, { kind: 'anonymous', account })
    this.#changedNames.add(name)
    return account
  }

  /**
   * Links the name of a feedback to its domain. The latest link counts until an account claims the
   * name. The domain's account absorbs the anonymous account of the name.
   */
  link(name: string, domain: string, number: number): void {
    const meaning = this.#names.get(name)
    if (meaning?.kind === 'claimed' || (meaning?.kind === 'linked' && meaning.domain === domain)) return
    if (meaning?.kind === 'anonymous') this.#domains.get(domain)!.account.absorb(meaning.account, number)
    this.#names.set(name, { kind: 'linked', domain })
    this.#changedNames.add(name)
  }

  writeTo(changes: Changes, w: number): void {
    for (const domain of this.#changedDomains) {
      const { account, isClaimed } = this.#domains.get(domain)!
      changes.domain.push({ w, domain, account: account.id, claimed: isClaimed })
    }
    for (const name of this.#changedNames) {
      const meaning = this.#names.get(name)!
      if (meaning.kind === 'linked') changes.account_name.push({ w, name, domain: meaning.domain, claimed: false })
      else changes.account_name.push({ w, name, account: meaning.account.id, claimed: meaning.kind === 'claimed' })
    }
  }
}
