import type { AccountRecord } from '../../contract/contact-record.ts'
import type { FeedbackRecord } from '../../contract/feedback-record.ts'
import { canonicalDomain, canonicalName, ownId, type Realm } from '../../contract/identity/keys.ts'
import { identifiedValues } from './identified-values.ts'
import { absorb, fill, identify, isLate, type Moment, type Profile } from './profile.ts'
import { type Claims, findOrOpen, linkAwaiting, noteClaim, openRegister, type Register } from './register.ts'

/** The meaning of a name: an account, or the current account of a domain. */
type NameMeaning =
  { kind: 'claimed'; profile: Profile } | { kind: 'linked'; domain: string } | { kind: 'anonymous'; profile: Profile }

export type Accounts = Register & {
  readonly realm: Realm
  /** With the source of the first identify, since accounts are the same in all sources. */
  readonly byExternalId: Map<string, { source: string; profile: Profile }>
  readonly byDomain: Map<string, { profile: Profile; claimed: boolean }>
  readonly byName: Map<string, NameMeaning>
}

export const openAccounts = (realm: Realm): Accounts => ({
  ...openRegister(),
  realm,
  byExternalId: new Map(),
  byDomain: new Map(),
  byName: new Map(),
})

type Identified = { record: AccountRecord; source: string; moment: Moment; claims: Claims }

/** The claimant of a key, and whether a newer submission has changed the claimant. */
type Claimant = { profile: Profile; number: number; late: boolean }

export const identifyAccount = (accounts: Accounts, { record, source, moment, claims }: Identified): Profile => {
  const profile = findOrOpen(accounts, ownId(accounts.realm, 'account_external', record.id), moment.number)
  if (!accounts.byExternalId.has(record.id)) {
    accounts.byExternalId.set(record.id, { source, profile })
    linkAwaiting(accounts, record.id, profile)
  }
  const values = identifiedValues(record, 'account')
  const late = isLate(profile, values, moment)
  if (late) fill(profile, values, moment.number)
  else identify(profile, values, moment.number)

  const domain = canonicalDomain((values.columns['domain'] ?? '') as string)
  const name = canonicalName((values.columns['name'] ?? '') as string)
  const claimant = { profile, number: moment.number, late }
  if (domain !== undefined) {
    const apply = () => claimDomain(accounts, domain, claimant)
    noteClaim(claims, { key: `domain ${domain}`, isLate: late, apply })
  }
  if (name !== undefined) {
    noteClaim(claims, { key: `name ${name}`, isLate: late, apply: () => claimName(accounts, name, claimant) })
  }
  return profile
}

/** The latest claim holds. The first claim takes over the anonymous account. */
const claimDomain = (accounts: Accounts, domain: string, { profile, number, late }: Claimant): void => {
  const meant = accounts.byDomain.get(domain)
  if (meant?.claimed === true && late) return
  if (meant && !meant.claimed) absorb(profile, meant.profile, number)
  accounts.byDomain.set(domain, { profile, claimed: true })
}

/**
 * Like a claim of a domain. The anonymous account of a name may already be merged into that of a
 * domain.
 */
const claimName = (accounts: Accounts, name: string, { profile, number, late }: Claimant): void => {
  const meant = accounts.byName.get(name)
  if (meant?.kind === 'claimed' && late) return
  if (meant?.kind === 'anonymous') absorb(profile, meant.profile, number)
  accounts.byName.set(name, { kind: 'claimed', profile })
}

/** Finds by domain, and links a name beside it to the domain. Without a domain it finds by name. */
export const findOrCreateAccount = (
  accounts: Accounts,
  account: FeedbackRecord['account'],
  number: number,
): Profile | undefined => {
  const domain = canonicalDomain(account?.domain ?? '')
  const name = canonicalName(account?.name ?? '')
  if (domain === undefined && name === undefined) return undefined

  const profile =
    domain === undefined ? findOrCreateByName(accounts, name!, number) : findOrCreateByDomain(accounts, domain, number)
  if (domain !== undefined && name !== undefined) linkName(accounts, { name, domain, number })
  const columns = {
    ...(domain !== undefined && { domain: account?.domain ?? '' }),
    ...(name !== undefined && { name: account?.name ?? '' }),
    ...(account?.contractValue != null && { contract_value: account.contractValue }),
  }
  fill(profile, { columns, properties: account?.sourceData ?? {} }, number)
  return profile
}

const findOrCreateByDomain = (accounts: Accounts, domain: string, number: number): Profile => {
  const meant = accounts.byDomain.get(domain)
  if (meant) return meant.profile
  const profile = findOrOpen(accounts, ownId(accounts.realm, 'account_domain', domain), number)
  accounts.byDomain.set(domain, { profile, claimed: false })
  return profile
}

const findOrCreateByName = (accounts: Accounts, name: string, number: number): Profile => {
  const meant = accounts.byName.get(name)
  if (meant?.kind === 'linked') return findOrCreateByDomain(accounts, meant.domain, number)
  if (meant) return meant.profile
  const profile = findOrOpen(accounts, ownId(accounts.realm, 'account_name', name), number)
  accounts.byName.set(name, { kind: 'anonymous', profile })
  return profile
}

type NameLink = { name: string; domain: string; number: number }

/**
 * The latest link holds until an identified account claims the name. The first takes over the
 * anonymous account.
 */
const linkName = (accounts: Accounts, { name, domain, number }: NameLink): void => {
  const meant = accounts.byName.get(name)
  if (meant?.kind === 'claimed') return
  if (meant?.kind === 'anonymous') absorb(accounts.byDomain.get(domain)!.profile, meant.profile, number)
  accounts.byName.set(name, { kind: 'linked', domain })
}
