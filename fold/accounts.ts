import {
  accountIdKey,
  accountNameKey,
  canonicalDomain,
  canonicalName,
  domainKey,
  type Realm,
} from '../contract/identity/keys.ts'
import type { AccountRecord } from '../contract/contact-record.ts'
import type { FeedbackRecord } from '../contract/feedback-record.ts'
import type { JsonValue } from '../contract/json.ts'
import type { Submission } from '../contract/submission.ts'
import type { Changes } from './changes.ts'
import type { Claims, Profiles, Unresolved } from './profiles.ts'
import type { Profile } from './profile.ts'
import { identifiedValues, textOf } from './profile-values.ts'
import type { StoredRowOf } from './stored.ts'

/** `source`: the source stored with the external id if the account is new. */
type IdentifiedAccount = { record: AccountRecord; source: string; submission: Submission; claims: Claims }

/** The accounts of a workspace. An external id means the same account in all sources. */
export class Accounts {
  readonly realm: Realm
  readonly unresolved: Unresolved
  readonly profiles: Profiles
  readonly names: AccountNames
  readonly #byExternalId = new Map<string, Profile>()
  readonly #newKeys: { key: string; externalId: string; source: string; account: Profile }[] = []

  constructor(realm: Realm, unresolved: Unresolved, profiles: Profiles) {
    this.realm = realm
    this.unresolved = unresolved
    this.profiles = profiles
    this.names = new AccountNames(realm, this.profiles)
  }

  learnKey(row: StoredRowOf<'accountExternalId'>): void {
    this.#byExternalId.set(row.key, this.profiles.learn(row))
  }

  findByKey(key: string): Profile | undefined {
    return this.#byExternalId.get(key)
  }

  /**
   * Sets the values of the record, and claims its domain and name. A late record only fills absent
   * values.
   */
  identify(identified: IdentifiedAccount): Profile {
    const { record, submission, claims } = identified
    const account = this.#findOrCreate(identified)
    const values = identifiedValues('account', record)
    const isLate = account.isNewerThan(values, submission)
    if (isLate) account.fillIn(values, submission)
    else account.identify(values, submission)
    const claim = { account, isLate, submission }
    const domain = canonicalDomain(textOf(values, 'domain'))
    const name = canonicalName(textOf(values, 'name'))
    if (domain !== undefined)
      claims.set(`domain ${domain}`, { isLate, apply: () => this.names.giveDomain(domain, claim) })
    if (name !== undefined) claims.set(`name ${name}`, { isLate, apply: () => this.names.giveName(name, claim) })
    return account
  }

  /**
   * The account of a feedback: by domain, else by name. With both, links the name to the domain.
   */
  findOrCreateFor(given: FeedbackRecord['account'], submission: Submission): Profile | undefined {
    const domain = canonicalDomain(given?.domain ?? '')
    const name = canonicalName(given?.name ?? '')
    if (domain === undefined && name === undefined) return undefined
    const account =
      domain === undefined ? this.names.findOrCreateByName(name!) : this.names.findOrCreateByDomain(domain)
    if (domain !== undefined && name !== undefined) this.names.link(name, domain, submission)
    const columns: Record<string, JsonValue> = {}
    if (domain !== undefined) columns['domain'] = given!.domain!
    if (name !== undefined) columns['name'] = given!.name!
    if (given?.contractValue != null) columns['contract_value'] = given.contractValue
    account.fillIn({ columns, properties: given?.sourceData ?? {} }, submission)
    return account
  }

  writeTo(changes: Changes): void {
    this.profiles.writeTo(changes)
    this.names.writeTo(changes)
    for (const { key, externalId, source, account } of this.#newKeys)
      changes.account_external_id.push({ key_id: key, source, external_id: externalId, account_id: account.id })
  }

  #findOrCreate({ record, source }: IdentifiedAccount): Profile {
    const key = accountIdKey(this.realm, record.id)
    const found = this.#byExternalId.get(key)
    if (found !== undefined) return found
    const account = this.profiles.findOrOpen(key)
    this.#byExternalId.set(key, account)
    this.#newKeys.push({ key, externalId: record.id, source, account })
    this.unresolved.resolve(key, account)
    return account
  }
}

/** The account of a domain. Without a claim, the account is anonymous: known by weak keys only. */
type DomainMeaning = { account: Profile; isClaimed: boolean }
/** The account of a name. `linked`: the name means the account of this domain. */
type NameMeaning = { kind: 'claimed' | 'anonymous'; account: Profile } | { kind: 'linked'; domain: string }
type AccountClaim = { account: Profile; isLate: boolean; submission: Submission }

/** Domains and names of accounts, in canonical form. */
class AccountNames {
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

  learnDomain({ key, profile, isClaimed }: StoredRowOf<'domain'>): void {
    this.#domains.set(key, { account: this.profiles.learn({ id: profile.id, profile }), isClaimed })
  }

  /**
   * The row of a linked name has the account of its domain, and tells whether the domain is
   * claimed.
   */
  learnName({ key, profile, isClaimed, domain }: StoredRowOf<'accountName'>): void {
    const account = this.profiles.learn({ id: profile.id, profile })
    if (domain === undefined) this.#names.set(key, { kind: isClaimed ? 'claimed' : 'anonymous', account })
    else {
      this.#names.set(key, { kind: 'linked', domain })
      if (!this.#domains.has(domain)) this.#domains.set(domain, { account, isClaimed })
    }
  }

  /**
   * The latest claim counts, but a late claim gives way to any other claim. The first claim absorbs
   * the anonymous account of the domain.
   */
  giveDomain(domain: string, { account, isLate, submission }: AccountClaim): void {
    const meaning = this.#domains.get(domain)
    if (meaning?.isClaimed === true && (isLate || meaning.account === account)) return
    if (meaning?.isClaimed === false) account.absorb(meaning.account, submission)
    this.#domains.set(domain, { account, isClaimed: true })
    this.#changedDomains.add(domain)
  }

  /** Follows the rules of `giveDomain`. A linked name has no anonymous account to absorb. */
  giveName(name: string, { account, isLate, submission }: AccountClaim): void {
    const meaning = this.#names.get(name)
    if (meaning?.kind === 'claimed' && (isLate || meaning.account === account)) return
    if (meaning?.kind === 'anonymous') account.absorb(meaning.account, submission)
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
  link(name: string, domain: string, submission: Submission): void {
    const meaning = this.#names.get(name)
    if (meaning?.kind === 'claimed' || (meaning?.kind === 'linked' && meaning.domain === domain)) return
    if (meaning?.kind === 'anonymous') this.#domains.get(domain)!.account.absorb(meaning.account, submission)
    this.#names.set(name, { kind: 'linked', domain })
    this.#changedNames.add(name)
  }

  writeTo(changes: Changes): void {
    for (const domain of this.#changedDomains) {
      const { account, isClaimed } = this.#domains.get(domain)!
      changes.account_domain.push({ domain, account_id: account.id, claimed: isClaimed })
    }
    for (const name of this.#changedNames) {
      const meaning = this.#names.get(name)!
      if (meaning.kind === 'linked') changes.account_name.push({ name, domain: meaning.domain, claimed: false })
      else changes.account_name.push({ name, account_id: meaning.account.id, claimed: meaning.kind === 'claimed' })
    }
  }
}
