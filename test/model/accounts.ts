import type { AccountRecord } from '../../contract/contact-record.ts'
import type { FeedbackRecord } from '../../contract/feedback-record.ts'
import { ownId, type Realm } from '../../contract/identity/keys.ts'
import { domainKey, nameKey } from './plain-keys.ts'
import { absorb, fill, identify, type Moment, type Profile, valuesOf } from './profile.ts'
import { type Claims, findOrOpen, linkAwaiting, noteClaim, openRegister, type Register } from './register.ts'

/**
 * A weak key means the account that claims it, or an anonymous account. A name can instead stand for
 * a domain.
 */
type Meaning = { kind: 'claimed' | 'anonymous'; profile: Profile } | { kind: 'linked'; domain: string }

export type Accounts = Register & {
  readonly realm: Realm
  /** Accounts are the same in all sources. `source` is that of the first identify. */
  readonly byExternalId: Map<string, { source: string; profile: Profile }>
  readonly meanings: { readonly domain: Map<string, Meaning>; readonly name: Map<string, Meaning> }
}

export const openAccounts = (realm: Realm): Accounts => ({
  ...openRegister(),
  realm,
  byExternalId: new Map(),
  meanings: { domain: new Map(), name: new Map() },
})

type Identified = { record: AccountRecord; source: string; moment: Moment; claims: Claims }

export const identifyAccount = (accounts: Accounts, { record, source, moment, claims }: Identified): Profile => {
  const profile = findOrOpen(accounts, ownId(accounts.realm, 'account_external', record.id), moment)
  if (!accounts.byExternalId.has(record.id)) {
    accounts.byExternalId.set(record.id, { source, profile })
    linkAwaiting(accounts, record.id, profile)
  }
  const values = valuesOf(record, 'account')
  const isLate = identify(profile, values, moment)
  const keys = {
    domain: domainKey((values.columns['domain'] ?? '') as string),
    name: nameKey((values.columns['name'] ?? '') as string),
  }
  for (const weak of ['domain', 'name'] as const) {
    const key = keys[weak]
    if (key === undefined) continue
    const apply = () => claim(accounts.meanings[weak], key, { profile, moment, isLate })
    noteClaim(claims, { key: `${weak} ${key}`, isLate, apply })
  }
  return profile
}

/** `isLate`: the account has newer values than the identify that claims. */
type Claimant = { profile: Profile; moment: Moment; isLate: boolean }

/**
 * The last claim holds. The first claim absorbs the anonymous account. A late claim does not change
 * a key that is claimed.
 */
const claim = (meanings: Map<string, Meaning>, key: string, { profile, moment, isLate }: Claimant): void => {
  const meant = meanings.get(key)
  if (meant?.kind === 'claimed' && isLate) return
  if (meant?.kind === 'anonymous') absorb(profile, meant.profile, moment)
  meanings.set(key, { kind: 'claimed', profile })
}

/** Finds by domain, and links the name to the domain. Without a domain, finds by name. */
export const findOrCreateAccount = (
  accounts: Accounts,
  account: FeedbackRecord['account'],
  moment: Moment,
): Profile | undefined => {
  const domain = domainKey(account?.domain ?? '')
  const name = nameKey(account?.name ?? '')
  if (domain === undefined && name === undefined) return undefined

  const profile =
    domain === undefined
      ? findOrCreateBy(accounts, 'name', { key: name!, moment })
      : findOrCreateBy(accounts, 'domain', { key: domain, moment })
  if (domain !== undefined && name !== undefined) linkName(accounts, { name, domain, profile, moment })
  const columns = {
    ...(domain !== undefined && { domain: account?.domain ?? '' }),
    ...(name !== undefined && { name: account?.name ?? '' }),
    ...(account?.contractValue != null && { contract_value: account.contractValue }),
  }
  fill(profile, { columns, properties: account?.sourceData ?? {} }, moment)
  return profile
}

const findOrCreateBy = (
  accounts: Accounts,
  weak: 'domain' | 'name',
  { key, moment }: { key: string; moment: Moment },
): Profile => {
  const meant = accounts.meanings[weak].get(key)
  if (meant?.kind === 'linked') return findOrCreateBy(accounts, 'domain', { key: meant.domain, moment })
  if (meant) return meant.profile
  const profile = findOrOpen(accounts, ownId(accounts.realm, `account_${weak}`, key), moment)
  accounts.meanings[weak].set(key, { kind: 'anonymous', profile })
  return profile
}

type NameLink = { name: string; domain: string; profile: Profile; moment: Moment }

/**
 * The last link holds until an identified account claims the name. The first link absorbs the
 * anonymous account.
 */
const linkName = ({ meanings }: Accounts, { name, domain, profile, moment }: NameLink): void => {
  const meant = meanings.name.get(name)
  if (meant?.kind === 'claimed') return
  if (meant?.kind === 'anonymous') absorb(profile, meant.profile, moment)
  meanings.name.set(name, { kind: 'linked', domain })
}
