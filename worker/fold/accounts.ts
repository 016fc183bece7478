import { canonicalDomain, canonicalName } from '../../contract/identity/canonical.ts'
import { accountIdKey } from '../../contract/identity/keys.ts'
import type { Realm } from '../../contract/identity/own-id.ts'
import type { AccountRecord } from '../../contract/contact-record.ts'
import type { FeedbackRecord } from '../../contract/feedback-record.ts'
import type { JsonValue } from '../../contract/json.ts'
import type { Submission } from '../../contract/submission.ts'
import type { LoadedRow } from '../../db/apply/load.ts'
import type { Changes } from '../../db/apply/save.ts'
import { AccountNames } from './account-names.ts'
import type { Claims } from './claims.ts'
import type { Profile } from './profile.ts'
import { identifiedValues, textOf } from './profile-values.ts'
import { Profiles } from './profiles.ts'
import type { Unresolved } from './unresolved.ts'

/** `source`: where the account is created. */
type Identified = { record: AccountRecord; source: string; submission: Submission; claims: Claims }

/** The accounts of a workspace and their external ids, which are the same in all sources. */
export class Accounts {
  readonly realm: Realm
  readonly unresolved: Unresolved
  readonly profiles = new Profiles('account')
  readonly names: AccountNames
  readonly #byExternalId = new Map<string, Profile>()
  readonly #newKeys: { key: string; externalId: string; source: string; account: Profile }[] = []

  constructor(realm: Realm, unresolved: Unresolved) {
    this.realm = realm
    this.unresolved = unresolved
    this.names = new AccountNames(realm, this.profiles)
  }

  learnKey(row: LoadedRow): void {
    this.#byExternalId.set(row.key, this.profiles.learn(row))
  }

  findByKey(key: string): Profile | undefined {
    return this.#byExternalId.get(key)
  }

  /**
   * Sets the values of the record, and claims its domain and name. An older record only fills
   * absent values.
   */
  identify(identified: Identified): Profile {
    const { record, submission, claims } = identified
    const account = this.#findOrCreate(identified)
    const values = identifiedValues('account', record)
    const isLate = account.isNewerThan(values, submission)
    if (isLate) account.fillIn(values, submission.number)
    else account.identify(values, submission.number)
    const claim = { account, isLate, number: submission.number }
    const domain = canonicalDomain(textOf(values, 'domain'))
    const name = canonicalName(textOf(values, 'name'))
    if (domain !== undefined)
      claims.set(`domain ${domain}`, { isLate, apply: () => this.names.claimDomain(domain, claim) })
    if (name !== undefined) claims.set(`name ${name}`, { isLate, apply: () => this.names.claimName(name, claim) })
    return account
  }

  /** Finds the account by domain, and links a given name to the domain; else by name. */
  findOrCreateFor(given: FeedbackRecord['account'], { number }: Submission): Profile | undefined {
    const domain = canonicalDomain(given?.domain ?? '')
    const name = canonicalName(given?.name ?? '')
    if (domain === undefined && name === undefined) return undefined
    const account =
      domain === undefined ? this.names.findOrCreateByName(name!) : this.names.findOrCreateByDomain(domain)
    if (domain !== undefined && name !== undefined) this.names.link(name, domain, number)
    const columns: Record<string, JsonValue> = {}
    if (domain !== undefined) columns['domain'] = given!.domain!
    if (name !== undefined) columns['name'] = given!.name!
    if (given?.contractValue != null) columns['contract_value'] = given.contractValue
    account.fillIn({ columns, properties: given?.sourceData ?? {} }, number)
    return account
  }

  writeTo(changes: Changes, w: number): void {
    this.profiles.writeTo(changes, w)
    this.names.writeTo(changes, w)
    for (const { key, externalId, source, account } of this.#newKeys)
      changes.account_key.push({ w, key, source, external_id: externalId, account: account.id })
  }

  #findOrCreate({ record, source }: Identified): Profile {
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
