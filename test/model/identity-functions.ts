import type { AccountRecord, ContactRecord } from '../../db/contract/contact-record.ts'
import type { JobOf, SubmissionJob } from '../../db/contract/job.ts'
import type { JsonObject, JsonValue } from '../../db/contract/json.ts'
import {
  asOwnId,
  comparableDomain,
  comparableEmail,
  comparableName,
  ownId,
  type Realm,
} from '../../db/contract/own-id.ts'
import { DEFAULT_SOURCE, feedbackId, feedbackSource } from '../../db/contract/stored-feedback.ts'
import { identifiedValues } from './identified-values.ts'
import type { Values } from './profile.ts'

/**
 * Identity once more, without a clerk: who is who as functions of all submissions and the moment of asking. Nothing here is
 * ever merged or moved, so it errs, if it does, in other places than the clerk.
 *
 * A moment is the acceptance number, and within a conversation the place; there, keys with a source come before everything.
 */
type Moment = number
const PLACES = 100_000

/** Asked only when everything is known: what comes later can have a say. */
type Who = () => string

type Claim = { at: Moment; key: string; by: string }
type NameLink = { at: Moment; name: string; domain: string }
/** What an identify or a reference said about somebody. */
type Saying = { at: Moment; of: Who; identified: boolean; values: Values }
/** The first time that somebody was known by nothing but this own id. */
type Birth = { at: Moment; id: string; who: Who }

type Known = {
  readonly realm: Realm
  /** By age. */
  contactKeys: { at: Moment; externalId: string; source: string; id: string }[]
  readonly accountKeys: Birth[]
  readonly emails: Claim[]
  readonly domains: Claim[]
  readonly names: Claim[]
  readonly links: NameLink[]
  /** Of anonymous contacts. */
  readonly contacts: Birth[]
  /** Of anonymous accounts. */
  readonly accounts: Birth[]
  readonly sayings: Saying[]
  readonly accountOf: Map<string, string>
}

export type Identity = {
  /** By feedback: own ids of its contact and account. */
  feedbacks: Map<string, [contactId: string | null, accountId: string | null]>
  /** By own id: what is known, and the first and last number. */
  profiles: Map<string, Told>
  accountOf: ReadonlyMap<string, string>
}
export type Told = { columns: JsonObject; properties: JsonObject; firstNumber: number; lastNumber: number }

/** Of one workspace, in the order of acceptance. */
export const identityOf = (realm: Realm, jobs: readonly SubmissionJob[]): Identity => {
  const known = collectIdentifies(realm, jobs)
  const links = new Map<string, [contact: Who | null, account: Who | null]>()
  for (const job of jobs) {
    if (job.operation !== 'create_feedback') continue
    const id = feedbackId({ ...realm, submissionId: job.submissionId }, job.body)
    links.set(id, [decideContact(known, job, id), decideAccount(known, job)])
  }
  return {
    feedbacks: new Map([...links].map(([id, [contact, account]]) => [id, [contact?.() ?? null, account?.() ?? null]])),
    profiles: tell(known.sayings),
    accountOf: known.accountOf,
  }
}

const collectIdentifies = (realm: Realm, jobs: readonly SubmissionJob[]): Known => {
  const known: Known = {
    realm,
    contactKeys: [],
    accountKeys: [],
    emails: [],
    domains: [],
    names: [],
    links: [],
    contacts: [],
    accounts: [],
    sayings: [],
    accountOf: new Map(),
  }
  const identifies = jobs.flatMap(contactIdentifies)
  collectContactKeys(known, identifies)
  for (const identify of identifies) collectContact(known, identify)
  for (const job of jobs) {
    if (job.operation === 'identify_account') collectAccount(known, job.body, job.number * PLACES)
  }
  for (const collected of [known.accountKeys, known.emails, known.domains, known.names]) {
    collected.sort((one, other) => one.at - other.at)
  }
  return known
}

type ContactIdentify = { at: Moment; exists: Moment; record: ContactRecord; defaultSource: string }

const contactIdentifies = (job: SubmissionJob): ContactIdentify[] => {
  const at = job.number * PLACES
  if (job.operation === 'identify_contact') return [{ at, exists: at, record: job.body, defaultSource: DEFAULT_SOURCE }]
  if (job.operation !== 'submit_conversation') return []
  const { contacts, source } = job.body
  const isLast = (record: ContactRecord, place: number) =>
    !contacts
      .slice(place + 1)
      .some((other) => other.id === record.id && (other.source ?? null) === (record.source ?? null))
  return contacts.flatMap((record, place) =>
    isLast(record, place) ? [{ at: at + PLACES / 2 + place, exists: at + place, record, defaultSource: source }] : [],
  )
}

const collectContactKeys = (known: Known, identifies: readonly ContactIdentify[]): void => {
  const add = (at: Moment, externalId: string, source: string) => {
    if (known.contactKeys.some((key) => key.externalId === externalId && key.source === source && key.at <= at)) return
    const id = ownId(known.realm, 'contact_external', source, externalId)
    known.contactKeys = known.contactKeys.filter((key) => key.id !== id)
    known.contactKeys.push({ at, externalId, source, id })
  }
  for (const { exists, record } of identifies) {
    if (record.source != null) add(exists, record.id, record.source)
  }
  for (const { at, record, defaultSource } of identifies) {
    const older = known.contactKeys.some((key) => key.externalId === record.id && key.at <= at)
    if (record.source == null && !older) add(at, record.id, defaultSource)
  }
  known.contactKeys.sort((a, b) => a.at - b.at)
}

const collectContact = (known: Known, { at, record }: ContactIdentify): void => {
  const keys = known.contactKeys.filter((key) => key.externalId === record.id)
  const { id } = (record.source == null ? keys[0] : keys.find((key) => key.source === record.source))!
  const values = identifiedValues(record, 'contact')
  known.sayings.push({ at, of: () => id, identified: true, values })
  const email = comparableEmail((values.columns['email'] ?? '') as string)
  if (email !== undefined) known.emails.push({ at, key: email, by: id })
  if (record.account == null) return
  known.accountOf.set(id, collectAccount(known, record.account, at))
}

const collectAccount = (known: Known, record: AccountRecord, at: Moment): string => {
  const id = ownId(known.realm, 'account_external', record.id)
  const values = identifiedValues(record, 'account')
  known.accountKeys.push({ at, id, who: () => id })
  known.sayings.push({ at, of: () => id, identified: true, values })
  const domain = comparableDomain((values.columns['domain'] ?? '') as string)
  const name = comparableName((values.columns['name'] ?? '') as string)
  if (domain !== undefined) known.domains.push({ at, key: domain, by: id })
  if (name !== undefined) known.names.push({ at, key: name, by: id })
  return id
}

const decideContact = (known: Known, { body, number }: JobOf<'create_feedback'>, feedback: string): Who | null => {
  const at = number * PLACES
  const ids = [body.contactId, body.contact?.id].filter((id) => id != null)
  for (const id of ids) {
    const keys = known.contactKeys.filter((key) => key.externalId === id && key.at < at)
    const key = keys.find(({ source }) => source === feedbackSource(body)) ?? keys[0]
    const found = body.isExternalContactId ? key && (() => key.id) : ownIdAt(contactBirths(known), id, at)
    if (found) return found
  }
  const email = comparableEmail(body.contact?.email ?? '')
  const name = comparableName(body.contact?.name ?? '')
  if (email !== undefined || name !== undefined) {
    const anonymous =
      email === undefined ? ownId(known.realm, 'contact_record', feedback) : ownId(known.realm, 'contact_email', email)
    const who = email === undefined ? () => anonymous : claimedAt(known.emails, email, { at, anonymous })
    if (!isClaimed(known.emails, email, at)) known.contacts.push({ at, id: anonymous, who })
    const columns = { ...(email !== undefined && { email: body.contact!.email! }), ...(name !== undefined && { name }) }
    known.sayings.push({
      at,
      of: who,
      identified: false,
      values: { columns, properties: body.contact?.sourceData ?? {} },
    })
    return who
  }
  const first = known.contactKeys.find(({ externalId }) => externalId === ids.at(-1))
  return body.isExternalContactId && first ? () => first.id : null
}

const contactBirths = (known: Known): Birth[] => [
  ...known.contactKeys.map(({ at, id }) => ({ at, id, who: () => id })),
  ...known.contacts,
]

const decideAccount = (known: Known, { body, number }: JobOf<'create_feedback'>): Who | null => {
  const at = number * PLACES
  const ids = [body.accountId, body.account?.id].filter((id) => id != null)
  for (const given of ids) {
    const id = body.isExternalAccountId ? ownId(known.realm, 'account_external', given) : given
    const births = body.isExternalAccountId ? known.accountKeys : [...known.accountKeys, ...known.accounts]
    const found = ownIdAt(births, id, at)
    if (found) return found
  }
  const domain = comparableDomain(body.account?.domain ?? '')
  const name = comparableName(body.account?.name ?? '')
  if (domain !== undefined || name !== undefined) {
    const who = domain === undefined ? nameWho(known, name!, at) : domainWho(known, domain, at)
    if (domain !== undefined && name !== undefined) known.links.push({ at, name, domain })
    const columns = {
      ...(domain !== undefined && { domain: body.account!.domain! }),
      ...(name !== undefined && { name }),
      ...(body.account?.contractValue != null && { contract_value: body.account.contractValue }),
    }
    known.sayings.push({
      at,
      of: who,
      identified: false,
      values: { columns, properties: body.account?.sourceData ?? {} },
    })
    return who
  }
  const awaited = ownId(known.realm, 'account_external', ids.at(-1) ?? '')
  return body.isExternalAccountId && known.accountKeys.some(({ id }) => id === awaited) ? () => awaited : null
}

const domainWho = (known: Known, domain: string, at: Moment): Who => {
  const anonymous = ownId(known.realm, 'account_domain', domain)
  const who = claimedAt(known.domains, domain, { at, anonymous })
  if (!isClaimed(known.domains, domain, at)) known.accounts.push({ at, id: anonymous, who })
  return who
}

const nameWho = (known: Known, name: string, at: Moment): Who => {
  const anonymous = ownId(known.realm, 'account_name', name)
  const who = () => nameAt(known, name, { at, anonymous })
  const linked = known.links.some((link) => link.name === name && link.at <= at)
  if (!linked && !isClaimed(known.names, name, at)) known.accounts.push({ at, id: anonymous, who })
  return who
}

type Asked = { at: Moment; anonymous: string }

const nameAt = ({ realm, names, links, domains }: Known, name: string, { at, anonymous }: Asked): string => {
  const claims = names.filter(({ key }) => key === name)
  const mine = links.filter((link) => link.name === name)
  const domainAt = ({ domain }: NameLink, moment: Moment) =>
    claimedAt(domains, domain, { at: moment, anonymous: ownId(realm, 'account_domain', domain) })()

  const claim = claims.findLast((one) => one.at <= at)
  if (claim) return claim.by
  const link = mine.findLast((one) => one.at <= at)
  if (link) return domainAt(link, at)
  const [nextClaim] = claims
  const [nextLink] = mine
  if (nextLink && !(nextClaim && nextClaim.at < nextLink.at)) return domainAt(nextLink, nextLink.at)
  return nextClaim?.by ?? anonymous
}

/** The last claim by then, else the first after it, else nobody but the key itself. */
const claimedAt = (claims: readonly Claim[], key: string, { at, anonymous }: Asked): Who => {
  const mine = claims.filter((claim) => claim.key === key)
  return () => (mine.findLast((claim) => claim.at <= at) ?? mine[0])?.by ?? anonymous
}

const isClaimed = (claims: readonly Claim[], key: string | undefined, at: Moment): boolean =>
  claims.some((claim) => claim.key === key && claim.at <= at)

const ownIdAt = (births: readonly Birth[], given: string, at: Moment): Who | undefined =>
  births.find(({ id, at: born }) => id === asOwnId(given) && born < at)?.who

/** The latest of what identifies said; else the first of what references said. */
const tell = (sayings: readonly Saying[]): Map<string, Told> => {
  const rank = ({ at, identified }: Saying) => (identified ? at : -at)
  const told = new Map<string, Told>()
  for (const [id, mine] of Map.groupBy(sayings, ({ of }) => of())) {
    const columns: [string, JsonValue, Saying][] = []
    const properties: [string, JsonValue, Saying][] = []
    for (const saying of mine.sort((one, other) => rank(one) - rank(other))) {
      for (const [key, value] of Object.entries(saying.values.columns)) columns.push([key, value, saying])
      for (const [key, value] of Object.entries(saying.values.properties)) properties.push([key, value, saying])
    }
    const standing = [columns, properties].flatMap((all) => [...new Map(all.map((one) => [one[0], one[2]])).values()])
    const lasting = [...standing, ...mine.filter(({ identified }) => identified)]
    told.set(id, {
      columns: Object.fromEntries(columns.map(([key, value]) => [key, value])),
      properties: Object.fromEntries(properties.map(([key, value]) => [key, value])),
      firstNumber: Math.floor(Math.min(...mine.map(({ at }) => at)) / PLACES),
      lastNumber: Math.floor(Math.max(...lasting.map(({ at }) => at)) / PLACES),
    })
  }
  return told
}
