import { canonicalEmail, hasEmail } from '../../contract/identity/keys.ts'
import { isPlaceholder } from '../../contract/identity/placeholders.ts'
import { isObject } from '../../runtime/exact-json.ts'
import { unwrapped } from './cell-value.ts'
import type { Kind } from './kinds.ts'
import { type BodyMembers, hasValue, memberAt, nest, entriesOf, withoutMember } from './members.ts'

/** The fields of a record, or of a row of a conversation, that name contacts, accounts and records. */
type KeyFields = Readonly<Record<'ids' | 'emails' | 'names', readonly string[]>>

const KEY_FIELDS: Readonly<Record<Kind, KeyFields>> = {
  feedback: {
    ids: ['sourceId', 'contactId', 'accountId', 'projectId', 'contact.id', 'account.id', 'project.id'],
    emails: ['contact.email'],
    names: ['contact.name', 'account.name', 'account.domain', 'project.name'],
  },
  contacts: { ids: ['id', 'account.id'], emails: ['properties.$email'], names: ['properties.$name'] },
  // The name and the domain of an identified account are required.
  accounts: { ids: ['id'], emails: [], names: [] },
  conversations: {
    ids: ['id', 'contact.id', 'message.id', 'message.contactId'],
    emails: ['contact.properties.$email'],
    names: ['contact.properties.$name'],
  },
}

/** Conversations and messages can be numbered from 0. */
const NUMBERED = { kind: 'conversations', fields: ['id', 'message.id'] } as const

type Cleaned = {
  readonly value: BodyMembers
  /** What a person should know about the record. */
  readonly doubts: readonly string[]
}

/**
 * Takes wrappings of spreadsheets off the ids and emails of a record, and leaves placeholders out:
 * the service would refuse the record for some of them, and its text would be lost.
 */
export const cleanKeys = (given: BodyMembers, kind: Kind): Cleaned => {
  const { ids, emails, names } = KEY_FIELDS[kind]
  const doubts: string[] = []
  let value = given
  for (const field of [...ids, ...emails, ...names]) {
    const path = field.split('.')
    const text = memberAt(value, path)
    if (typeof text !== 'string' || text.trim() === '') continue
    const plain = names.includes(field) ? text : unwrapped(text)
    const isNumbered = kind === NUMBERED.kind && plain === '0' && NUMBERED.fields.some((known) => known === field)
    const isNothing = emails.includes(field) ? !hasEmail(plain) : isPlaceholder(plain) && !isNumbered
    if (isNothing) {
      value = withoutMember(value, path)
      doubts.push(`${field} is a placeholder, such as N/A, and is left out`)
      continue
    }
    if (plain !== text.trim()) {
      value = nest([...entriesOf(value), { path, value: plain }])
      doubts.push(`${field} has the quotes of a spreadsheet, such as ="007" or '007, which are left out`)
    }
    if (plain.startsWith('=')) doubts.push(`${field} begins with =: check whether the file has formulas for values`)
    if (emails.includes(field) && canonicalEmail(plain) === undefined)
      doubts.push(`${field} is no address: it is kept, and makes no two records those of one contact`)
  }
  return withoutContacts({ value, doubts }, kind)
}

/** A conversation of JSON: the service refuses one with a placeholder among its contacts. */
const withoutContacts = ({ value, doubts }: Cleaned, kind: Kind): Cleaned => {
  const { contacts } = value
  if (kind !== 'conversations' || !Array.isArray(contacts)) return { value, doubts }
  const kept = contacts.filter((contact: unknown) => {
    const id = isObject(contact) ? contact['id'] : undefined
    return typeof id !== 'string' || id === '' || !isPlaceholder(id)
  })
  if (kept.length === contacts.length) return { value, doubts }
  return {
    value: { ...value, contacts: kept },
    doubts: [...doubts, 'the id of one of the contacts is a placeholder, such as N/A, and this contact is left out'],
  }
}

/** The members by which a reference of a feedback names its record, and its other members. */
const REFERENCES = [
  { member: 'contact', names: ['id', 'email', 'name'], others: ['sourceData'] },
  { member: 'account', names: ['id', 'domain', 'name'], others: ['sourceData', 'contractValue'] },
  { member: 'project', names: ['id', 'name'], others: [] },
] as const

/** Leaves out references that name nothing: the service would refuse the feedback. */
export const withoutNameless = (given: BodyMembers, kind: Kind): Cleaned => {
  const doubts: string[] = []
  let value = given
  for (const { member, names, others } of kind === 'feedback' ? REFERENCES : []) {
    const reference = value[member]
    if (!isObject(reference) || names.some((name) => !isBlank(reference[name]))) continue
    const known: readonly string[] = [...names, ...others]
    // The service names an unknown member, which may be a misspelt name.
    if (Object.keys(reference).some((name) => !known.includes(name))) continue
    value = withoutMember(value, [member])
    const lost = others.filter((name) => hasValue(reference[name]))
    if (lost.length > 0)
      doubts.push(`${member} is left out, with its ${lost.join(' and ')}: it needs one of ${names.join(', ')}`)
  }
  return { value, doubts }
}

const isBlank = (name: unknown): boolean => !hasValue(name) || (typeof name === 'string' && name.trim() === '')
