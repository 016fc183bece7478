import type { AccountRecord, ContactRecord } from '../contact-record.ts'
import { type ConversationRecord, sourcedContacts } from '../conversation-record.ts'
import { DEFAULT_SOURCE, type FeedbackRecord, feedbackSource } from '../feedback-record.ts'
import type { JsonObject, JsonValue } from '../json.ts'
import type { PurgeRequest } from '../purge-request.ts'
import type { Operation, SubmissionOf } from '../submission.ts'
import { asUuid, canonicalDomain, canonicalEmail, canonicalName, hasEmail } from './keys.ts'
import { isPlaceholder } from './placeholders.ts'

/**
 * What a submission does with a key. `identify`: it sets the values of the contact or account.
 * `refer`: it links a record to the contact, account or project. `purge`: it removes the contact.
 */
type Role = 'identify' | 'refer' | 'purge'

/**
 * A key by which a submission names a contact, an account or a project. Emails, domains and names
 * are in canonical form, own ids in lower case. `fillsMetadata`: the submission fills absent
 * metadata of the contact or account, so all of the stored metadata counts.
 */
export type NamedKey =
  /**
   * `source`: where the id is looked up first, and the source of a new contact. `isOpen`: the
   * submission names no source, so the id can mean a contact of any source. `isVersioned`: the
   * record tells when its contact or account changed.
   */
  | {
      kind: 'contactExternalId'
      role: Role
      externalId: string
      source: string
      isOpen: boolean
      isVersioned: boolean
    }
  | { kind: 'contactId'; role: 'refer'; id: string }
  | { kind: 'email'; role: Role; email: string; fillsMetadata: boolean }
  /**
   * A contact that a feedback names by a name alone, or by an email that is no address. It belongs to
   * this feedback.
   */
  | { kind: 'contactName'; role: 'refer'; fillsMetadata: boolean }
  | { kind: 'accountExternalId'; role: Role; externalId: string; isVersioned: boolean }
  | { kind: 'accountId'; role: 'refer'; id: string }
  | { kind: 'domain'; role: Role; domain: string; fillsMetadata: boolean }
  /** `hasDomain`: the same reference has a domain, to which it may link the name. */
  | { kind: 'accountName'; role: Role; name: string; fillsMetadata: boolean; hasDomain: boolean }
  | { kind: 'projectId'; role: 'refer'; id: string }
  | { kind: 'projectName'; role: 'refer'; name: string }

/** The part of a submission that names keys. */
export type Naming = { [O in Operation]: Pick<SubmissionOf<O>, 'operation' | 'body'> }[Operation]

/**
 * All keys that a submission names, in the order in which its references count. It can name a key
 * twice.
 */
export const keysOf = ({ operation, body }: Naming): NamedKey[] => {
  switch (operation) {
    case 'create_feedback':
      return keysOfFeedback(body)
    case 'identify_contact':
      return keysOfContact(body, DEFAULT_SOURCE)
    case 'identify_account':
      return keysOfAccount(body)
    case 'submit_conversation':
      return keysOfConversation(body)
    case 'purge_contact':
      return keysOfPurge(body)
    case 'correct_feedback':
    case 'delete_feedback':
    case 'create_theme':
    case 'edit_theme':
      return []
  }
}

const keysOfFeedback = (body: FeedbackRecord): NamedKey[] => {
  const { contact, account, project } = body
  const email = canonicalEmail(contact?.email ?? '')
  const domain = canonicalDomain(account?.domain ?? '')
  const accountName = canonicalName(account?.name ?? '')
  const projectName = canonicalName(project?.name ?? '')
  const ofContact = { role: 'refer', fillsMetadata: hasMembers(contact?.sourceData) } as const
  const ofAccount = { role: 'refer', fillsMetadata: hasMembers(account?.sourceData) } as const
  const keys: NamedKey[] = given(body.contactId, contact?.id).flatMap((id) =>
    body.isExternalContactId ? contactIdInAnySource(id, feedbackSource(body)) : byOwnId('contactId', id),
  )
  if (email !== undefined) keys.push({ kind: 'email', email, ...ofContact })
  else if (hasEmail(contact?.email ?? '') || canonicalName(contact?.name ?? '') !== undefined)
    keys.push({ kind: 'contactName', ...ofContact })
  for (const id of given(body.accountId, account?.id))
    if (body.isExternalAccountId)
      keys.push({ kind: 'accountExternalId', role: 'refer', externalId: id, isVersioned: false })
    else keys.push(...byOwnId('accountId', id))
  if (domain !== undefined) keys.push({ kind: 'domain', domain, ...ofAccount })
  if (accountName !== undefined)
    keys.push({ kind: 'accountName', name: accountName, hasDomain: domain !== undefined, ...ofAccount })
  for (const id of given(body.projectId, project?.id)) keys.push(...byOwnId('projectId', id))
  if (projectName !== undefined) keys.push({ kind: 'projectName', role: 'refer', name: projectName })
  return keys
}

const given = (...ids: readonly (string | null | undefined)[]): string[] => ids.filter((id) => id != null)

/** A reference by own id. A text that is no own id names nothing. */
const byOwnId = <K extends 'contactId' | 'accountId' | 'projectId'>(
  kind: K,
  text: string,
): { kind: K; role: 'refer'; id: string }[] => {
  const id = asUuid(text)
  return id === undefined ? [] : [{ kind, role: 'refer', id }]
}

/** A reference by an external id without a source. `source`: the preferred one. */
export const contactIdInAnySource = (externalId: string, source: string): NamedKey => ({
  kind: 'contactExternalId',
  role: 'refer',
  externalId,
  source,
  isOpen: true,
  isVersioned: false,
})

/** The keys of a contact record. `defaultSource`: the source of a record without one. */
export const keysOfContact = (record: ContactRecord, defaultSource: string): NamedKey[] => {
  const { id, source, properties, account } = record
  const email = canonicalEmail(textIn(properties, '$email'))
  const keys: NamedKey[] = [
    {
      kind: 'contactExternalId',
      role: 'identify',
      externalId: id,
      source: source ?? defaultSource,
      isOpen: source == null,
      isVersioned: isVersioned(record),
    },
  ]
  if (email !== undefined) keys.push({ kind: 'email', role: 'identify', email, fillsMetadata: false })
  return account == null ? keys : [...keys, ...keysOfAccount(account)]
}

const keysOfAccount = (record: AccountRecord): NamedKey[] => {
  const domain = canonicalDomain(textIn(record.properties, '$domain'))
  const name = canonicalName(textIn(record.properties, '$name'))
  const identify = { role: 'identify', fillsMetadata: false } as const
  const keys: NamedKey[] = [
    { kind: 'accountExternalId', role: 'identify', externalId: record.id, isVersioned: isVersioned(record) },
  ]
  if (domain !== undefined) keys.push({ kind: 'domain', domain, ...identify })
  if (name !== undefined) keys.push({ kind: 'accountName', name, hasDomain: domain !== undefined, ...identify })
  return keys
}

const keysOfConversation = (body: ConversationRecord): NamedKey[] => {
  const contacts = sourcedContacts(body)
  const identified = new Set(contacts.map(({ id }) => id))
  const senders = new Set(body.messages.flatMap(({ contactId }) => contactId ?? []))
  const others = [...senders.difference(identified)].filter((id) => !isPlaceholder(id))
  return [
    ...contacts.flatMap((contact) => keysOfContact(contact, body.source)),
    ...others.map((id) => contactIdInAnySource(id, body.source)),
  ]
}

const keysOfPurge = ({ id, email, source }: PurgeRequest): NamedKey[] => {
  const address = canonicalEmail(email ?? '')
  const keys: NamedKey[] = []
  if (id != null)
    keys.push({
      kind: 'contactExternalId',
      role: 'purge',
      externalId: id,
      source: source ?? DEFAULT_SOURCE,
      isOpen: source == null,
      isVersioned: false,
    })
  if (address !== undefined) keys.push({ kind: 'email', role: 'purge', email: address, fillsMetadata: false })
  return keys
}

const hasMembers = (object: JsonObject | null | undefined): boolean => {
  for (const _ in object) return true
  return false
}

/** The record has a `$updatedAt`, so it may be older than its contact or account. */
const isVersioned = ({ properties }: ContactRecord | AccountRecord): boolean => textIn(properties, '$updatedAt') !== ''

const textIn = (properties: { [key: string]: JsonValue | undefined } | null | undefined, key: string): string => {
  const value = properties?.[key]
  return typeof value === 'string' ? value : ''
}
