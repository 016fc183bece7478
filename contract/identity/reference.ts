import { type Facts, givenFacts } from './facts.ts'
import type { FeedbackRecord } from '../feedback-record.ts'
import type { JsonValue } from '../json.ts'
import {
  asOwnId,
  comparableDomain,
  comparableEmail,
  comparableName,
  type HashKey,
  type KeyKind,
  ownId,
  type Realm,
} from './own-id.ts'

/**
 * The keys by which a record names a contact, account or project. `ids` are tried first, in order: own ids (`own`), or groups. Then
 * comes `weak`, with what find-or-create gave about it (`given`). `nameKey` is an account name that came with a domain. `preferred`
 * is the key of a message's sender whom the conversation itself identified.
 */
export type Reference = {
  ids?: string[]
  own?: boolean
  weak?: string
  weakKind?: KeyKind
  nameKey?: string
  given?: Facts | { name: JsonValue }
  preferred?: string
}

export type References = { contact: Reference | null; account: Reference | null; project: Reference | null }
/** The references that an answer tells of and that the books know. Accounts are in neither. */
export type AnswerReferences = Pick<References, 'contact' | 'project'>

/** `number` is the acceptance number, which ranks given facts. A contact without an email belongs to the record `recordId`. */
export type ReferenceContext = Realm & { number: number; recordId: string }

/** The group of a contact's external id: the id in all sources. Its key in one source is `contactKey`. */
export const contactGroup = (realm: Realm, externalId: string): string => ownId(realm, 'contact_bare', externalId)
export const contactKey = (realm: Realm, source: string, externalId: string): string =>
  ownId(realm, 'contact_external', source, externalId)
/** An account's external id has one key, since accounts have no source of their own. */
export const accountKey = (realm: Realm, externalId: string): string => ownId(realm, 'account_external', externalId)

/** Contact, account and project of a feedback. */
export const feedbackReferences = (context: ReferenceContext, record: FeedbackRecord): References => ({
  ...answerReferences(context, record),
  account: accountReference(context, record),
})

/** Contact and project of a feedback. */
export const answerReferences = (context: ReferenceContext, record: FeedbackRecord): AnswerReferences => ({
  contact: contactReference(context, record),
  project: projectReference(context, record),
})

const contactReference = (context: ReferenceContext, record: FeedbackRecord): Reference | null => {
  const { number, recordId } = context
  const { contact } = record
  const ids = idsOf([record.contactId, contact?.id], record.isExternalContactId, (id) => contactGroup(context, id))
  const email = comparableEmail(contact?.email ?? '')
  const name = comparableName(contact?.name ?? '')
  if (email === undefined && name === undefined) return onlyIds(ids)
  const given = givenFacts({ name, email: email && contact?.email }, contact?.sourceData, number)
  return email === undefined
    ? { ...ids, weak: ownId(context, 'contact_record', recordId), weakKind: 'contact_record', given }
    : { ...ids, weak: ownId(context, 'contact_email', email), weakKind: 'contact_email', given }
}

const accountReference = (context: ReferenceContext, record: FeedbackRecord): Reference | null => {
  const { number } = context
  const { account } = record
  const ids = idsOf([record.accountId, account?.id], record.isExternalAccountId, (id) => accountKey(context, id))
  const name = comparableName(account?.name ?? '')
  const domain = comparableDomain(account?.domain ?? '')
  if (name === undefined && domain === undefined) return onlyIds(ids)
  const given = givenFacts(
    { name, domain: domain && account?.domain, contractValue: account?.contractValue },
    account?.sourceData,
    number,
  )
  const nameKey = name === undefined ? undefined : recalledId(context, 'account_name', name)
  if (domain === undefined) return { ...ids, weak: nameKey!, weakKind: 'account_name', given }
  const weak = recalledId(context, 'account_domain', domain)
  return { ...ids, weak, weakKind: 'account_domain', given, ...(nameKey !== undefined && { nameKey }) }
}

const RECALLED_IDS = 10_000
const RECALLED_CHARACTERS = 200
const recalled = new WeakMap<HashKey, Map<string, string>>()

/**
 * Feedback names the same accounts again and again, so their ids are kept. Making both ids of an account anew took 6 µs of
 * processor time a feedback on Bun and 55 on Deno. Ids of people are not kept like this: a purge would have to find them.
 */
const recalledId = (realm: Realm, kind: 'account_name' | 'account_domain', value: string): string => {
  if (value.length > RECALLED_CHARACTERS) return ownId(realm, kind, value)
  let ids = recalled.get(realm.hashKey)
  if (ids === undefined || ids.size >= RECALLED_IDS) recalled.set(realm.hashKey, (ids = new Map<string, string>()))
  const key = `${realm.workspaceId}:${kind}:${value}`
  let id = ids.get(key)
  if (id === undefined) ids.set(key, (id = ownId(realm, kind, value)))
  return id
}

const projectReference = (context: ReferenceContext, record: FeedbackRecord): Reference | null => {
  // Projects have no external ids.
  const ids = idsOf([record.projectId, record.project?.id], false, (id) => id)
  const name = comparableName(record.project?.name ?? '')
  if (name === undefined) return onlyIds(ids)
  return { ...ids, weak: ownId(context, 'project', name), weakKind: 'project', given: { name } }
}

type Ids = { ids?: string[]; own?: boolean }

const idsOf = (
  named: readonly (string | null | undefined)[],
  external: boolean,
  group: (externalId: string) => string,
): Ids => {
  const ids = named
    .filter((id) => id != null)
    .map((id) => (external ? group(id) : asOwnId(id)))
    .filter((id) => id !== undefined)
  return ids.length === 0 ? {} : { ids: [...new Set(ids)], own: !external }
}

const onlyIds = (ids: Ids): Reference | null => (ids.ids ? ids : null)
