import type { AccountRecord, ContactRecord } from '../../contract/contact-record.ts'
import { emailKeyFact, identifiedFacts } from '../../contract/identity/facts.ts'
import type { JsonValue } from '../../contract/json.ts'
import { comparableDomain, comparableEmail, comparableName, ownId, type Realm } from '../../contract/identity/own-id.ts'
import { accountKey, contactGroup, contactKey } from '../../contract/identity/reference.ts'
import { unflattenIf } from '../../contract/unflatten.ts'
import type { ClaimRow, KeyRow } from '../../db/store.ts'

/** The submission that identifies: its workspace and acceptance number, and the source in which new contacts and accounts are. */
type IdentifyContext = Realm & { number: number; homeSource: string }

export type Identified = { key: KeyRow; keys: KeyRow[]; claims: ClaimRow[] }

/** A contact record as keys with facts, and claims. `keys` has the contact's own key first, then its account's. */
export const identifiedContact = (saying: IdentifyContext, record: ContactRecord): Identified => {
  const { number } = saying
  const source = record.source ?? undefined
  const account =
    record.account && identifiedAccount({ ...saying, homeSource: source ?? saying.homeSource }, record.account)
  const properties = unflattenIf(record.shouldUnflattenProperties, record.properties ?? {})
  const group = contactGroup(saying, record.id)
  const home = contactKey(saying, source ?? saying.homeSource, record.id)
  const email = comparableEmail(textOf(properties['$email']))
  const emailKey = email === undefined ? null : ownId(saying, 'contact_email', email)
  const key: KeyRow = {
    id: source === undefined ? group : home,
    kind: source === undefined ? 'contact_bare' : 'contact_external',
    group_id: group,
    home_id: source === undefined ? home : null,
    source: source ?? saying.homeSource,
    external_id: record.id,
    said_from: number,
    last_number: number,
    facts: {
      ...identifiedFacts('contact', properties, number),
      ...('$email' in properties && emailKeyFact(emailKey, number)),
    },
    account_id: account?.key.id ?? null,
    account_number: account ? number : null,
  }
  const claims = claimsOf(saying, key.id, { contact_email: emailKey })
  return { key, keys: [key, ...(account?.keys ?? [])], claims: [...claims, ...(account?.claims ?? [])] }
}

/** An account record as a key with facts, and claims. */
export const identifiedAccount = (saying: IdentifyContext, record: AccountRecord): Identified => {
  const { number } = saying
  const properties = unflattenIf(record.shouldUnflattenProperties, record.properties ?? {})
  const id = accountKey(saying, record.id)
  const key: KeyRow = {
    id,
    kind: 'account_external',
    group_id: id,
    home_id: null,
    source: saying.homeSource,
    external_id: record.id,
    said_from: number,
    last_number: number,
    facts: identifiedFacts('account', properties, number),
    account_id: null,
    account_number: null,
  }
  const name = comparableName(textOf(properties['$name']))
  const domain = comparableDomain(textOf(properties['$domain']))
  const claims = claimsOf(saying, id, {
    account_name: name === undefined ? null : ownId(saying, 'account_name', name),
    account_domain: domain === undefined ? null : ownId(saying, 'account_domain', domain),
  })
  return { key, keys: [key], claims }
}

const textOf = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '')

const claimsOf = (
  { number }: IdentifyContext,
  target: string,
  weak: Partial<Record<'contact_email' | 'account_name' | 'account_domain', string | null>>,
): ClaimRow[] =>
  (['contact_email', 'account_name', 'account_domain'] as const).flatMap((kind) => {
    const keyId = weak[kind]
    return keyId == null ? [] : [{ key_id: keyId, kind, number, target_id: target }]
  })
