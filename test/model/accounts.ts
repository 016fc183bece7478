import type { AccountRecord } from '../../contract/contact-record.ts'
import type { FeedbackRecord } from '../../contract/feedback-record.ts'
import { comparableDomain, comparableName, ownId, type Realm } from '../../contract/identity/own-id.ts'
import { identifiedValues } from './identified-values.ts'
import { absorb, fill, identify, type Profile } from './profile.ts'
import { type Claims, findOrOpen, giveOwnId, linkAwaiting, openRegister, type Register } from './register.ts'

/** What a name means now: an account, or whatever account a domain means at the time of asking. */
type NameMeaning =
  { kind: 'claimed'; profile: Profile } | { kind: 'linked'; domain: string } | { kind: 'anonymous'; profile: Profile }

export type Accounts = Register & {
  readonly realm: Realm
  /** With the source of whoever identified it first: accounts are the same in all sources. */
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

type Identified = { record: AccountRecord; source: string; number: number; claims: Claims }

export const identifyAccount = (accounts: Accounts, { record, source, number, claims }: Identified): Profile => {
  const profile = findOrOpen(accounts, ownId(accounts.realm, 'account_external', record.id), number)
  if (!accounts.byExternalId.has(record.id)) {
    accounts.byExternalId.set(record.id, { source, profile })
    linkAwaiting(accounts, record.id, profile)
  }
  const values = identifiedValues(record, 'account')
  identify(profile, values, number)
  const domain = comparableDomain((values.columns['domain'] ?? '') as string)
  const name = comparableName((values.columns['name'] ?? '') as string)
  if (domain !== undefined) claims.set(`domain ${domain}`, () => claimDomain(accounts, domain, profile))
  if (name !== undefined) claims.set(`name ${name}`, () => claimName(accounts, name, profile))
  return profile
}

/** The latest claim holds. The first one takes over the anonymous account, which nobody had claimed. */
const claimDomain = (accounts: Accounts, domain: string, claimant: Profile): void => {
  const meant = accounts.byDomain.get(domain)
  if (meant && !meant.claimed) absorb(claimant, meant.profile)
  giveOwnId(accounts, ownId(accounts.realm, 'account_domain', domain), claimant)
  accounts.byDomain.set(domain, { profile: claimant, claimed: true })
}

/** As for a domain; but the anonymous account of a name may have gone to a domain's before. */
const claimName = (accounts: Accounts, name: string, claimant: Profile): void => {
  const meant = accounts.byName.get(name)
  if (meant?.kind === 'anonymous') absorb(claimant, meant.profile)
  giveOwnId(accounts, ownId(accounts.realm, 'account_name', name), claimant)
  accounts.byName.set(name, { kind: 'claimed', profile: claimant })
}

/** By domain, which a name given with it is linked to; else by name. */
export const findOrCreateAccount = (
  accounts: Accounts,
  account: FeedbackRecord['account'],
  number: number,
): Profile | undefined => {
  const domain = comparableDomain(account?.domain ?? '')
  const name = comparableName(account?.name ?? '')
  if (domain === undefined && name === undefined) return undefined

  const profile =
    domain === undefined ? findOrCreateByName(accounts, name!, number) : findOrCreateByDomain(accounts, domain, number)
  if (domain !== undefined && name !== undefined) linkName(accounts, name, domain)
  const columns = {
    ...(domain !== undefined && { domain: account?.domain ?? '' }),
    ...(name !== undefined && { name }),
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

/** The latest link holds until an identified account claims the name. The first takes over the anonymous account. */
const linkName = (accounts: Accounts, name: string, domain: string): void => {
  const meant = accounts.byName.get(name)
  if (meant?.kind === 'claimed') return
  const { profile } = accounts.byDomain.get(domain)!
  if (meant?.kind === 'anonymous') absorb(profile, meant.profile)
  giveOwnId(accounts, ownId(accounts.realm, 'account_name', name), profile)
  accounts.byName.set(name, { kind: 'linked', domain })
}
