import type { JsonObject, JsonValue } from '../../db/contract/json.ts'

export type OperationPath =
  | '/feedbacks'
  | '/contacts/identify'
  | '/accounts/identify'
  | '/contacts/purge'
  | '/conversations'

export type FieldType = 'string' | 'number' | 'boolean' | 'date-time' | 'object' | 'array'

/** What exists already when a field is tried, and a text that no other test uses. */
export type Known = { contactId: string; accountId: string; projectId: string; unique: string }

export const KNOWN_CONTACT = { id: 'known-contact', name: 'Ada Known' }
export const KNOWN_ACCOUNT = { id: 'known-account', name: 'Known Inc', domain: 'known.example' }

type Given = JsonValue | ((known: Known) => JsonValue)

/** One row of the interface's tables. Flags say `false` where they are left out. */
export type Field = {
  operation: OperationPath
  path: string
  type: FieldType
  required?: true
  nullable?: true
  /** An id: the empty text is refused. Other texts may be empty. */
  id?: true
  /** At most 512 characters. */
  short?: true
  good: Given
  /** Other members that are needed to see what this one does. */
  with?: Readonly<Record<string, JsonValue>>
  /** Table and column where it ends up, and what stands there if it is not the very value. */
  stored?: string
  as?: Given
  /** The member of the answer that repeats it. */
  answered?: string
}

type Row = Omit<Field, 'operation'>

const DOTTED = { 'plan.name': 'gold', 'plan.seats': 5 }
const NESTED = { plan: { name: 'gold', seats: 5 } }
const METADATA = { plan: 'gold', 'region.code': 'EU', nested: { list: [1, null, 'x'] }, none: null }
const TIME = '2026-01-31T09:30:00.123+02:00'

const account = (prefix: string): Row[] => [
  { path: `${prefix}id`, type: 'string', required: true, id: true, short: true, good: unique, stored: 'account_external_id.external_id' },
  {
    path: `${prefix}shouldUnflattenProperties`, type: 'boolean', nullable: true, good: true,
    with: { [`${prefix}properties`]: { $name: 'Acme', $domain: 'acme.example', ...DOTTED } }, stored: 'account.properties', as: NESTED,
  },
  { path: `${prefix}properties`, type: 'object', good: { $name: 'Acme', $domain: 'acme.example', ...METADATA }, stored: 'account.properties', as: METADATA },
  { path: `${prefix}properties.$name`, type: 'string', required: true, short: true, good: unique, stored: 'account.name' },
  { path: `${prefix}properties.$domain`, type: 'string', required: true, short: true, good: unique, stored: 'account.domain' },
  { path: `${prefix}properties.$createdAt`, type: 'date-time', nullable: true, good: TIME, stored: 'account.source_created_at' },
  { path: `${prefix}properties.$updatedAt`, type: 'date-time', nullable: true, good: TIME, stored: 'account.source_updated_at' },
  { path: `${prefix}properties.$contractValue`, type: 'number', nullable: true, good: 1234.5, stored: 'account.contract_value' },
]

const contact = (prefix: string): Row[] => [
  { path: `${prefix}id`, type: 'string', required: true, id: true, short: true, good: unique, stored: 'contact_external_id.external_id' },
  {
    path: `${prefix}shouldUnflattenProperties`, type: 'boolean', nullable: true, good: true,
    with: { [`${prefix}properties`]: { ...DOTTED } }, stored: 'contact.properties', as: NESTED,
  },
  { path: `${prefix}properties`, type: 'object', nullable: true, good: METADATA, stored: 'contact.properties' },
  { path: `${prefix}properties.$email`, type: 'string', nullable: true, short: true, good: unique, stored: 'contact.email' },
  { path: `${prefix}properties.$name`, type: 'string', nullable: true, good: 'Grace', stored: 'contact.name' },
  { path: `${prefix}properties.$createdAt`, type: 'date-time', nullable: true, good: TIME, stored: 'contact.source_created_at' },
  { path: `${prefix}properties.$updatedAt`, type: 'date-time', nullable: true, good: TIME, stored: 'contact.source_updated_at' },
  { path: `${prefix}properties.$contractValue`, type: 'number', nullable: true, good: -0.25, stored: 'contact.contract_value' },
  { path: `${prefix}account`, type: 'object', nullable: true, good: { id: 'nested' }, stored: 'account_external_id.external_id', as: 'nested' },
  { path: `${prefix}source`, type: 'string', nullable: true, short: true, good: 'Zendesk', stored: 'contact_external_id.source' },
  ...account(`${prefix}account.`),
]

const feedback: Row[] = [
  { path: 'description', type: 'string', required: true, good: '<p>The export is <b>slow</b></p>', stored: 'feedback.description', answered: 'description' },
  { path: 'title', type: 'string', nullable: true, good: 'Export', stored: 'feedback.title' },
  { path: 'isTranscript', type: 'boolean', nullable: true, good: true, stored: 'feedback.is_transcript' },
  { path: 'tags', type: 'array', nullable: true, good: ['Export', 'Speed'], stored: 'feedback.tags' },
  { path: 'tags.0', type: 'string', good: 'Export', stored: 'feedback.tags', as: ['Export'] },
  { path: 'isExternalContactId', type: 'boolean', good: true, with: { contactId: KNOWN_CONTACT.id }, stored: 'contact.name', as: KNOWN_CONTACT.name },
  { path: 'contact', type: 'object', nullable: true, good: { email: 'c@example.com' }, stored: 'contact.email', as: 'c@example.com' },
  { path: 'contact.id', type: 'string', id: true, short: true, good: (known) => known.contactId, stored: 'feedback.contact_id', answered: 'customerId' },
  { path: 'contact.name', type: 'string', good: 'Grace', stored: 'contact.name' },
  { path: 'contact.email', type: 'string', short: true, good: unique, stored: 'contact.email' },
  { path: 'contact.sourceData', type: 'object', nullable: true, good: METADATA, stored: 'contact.properties' },
  { path: 'contactId', type: 'string', nullable: true, id: true, short: true, good: (known) => known.contactId, stored: 'feedback.contact_id', answered: 'customerId' },
  { path: 'isExternalAccountId', type: 'boolean', good: true, with: { accountId: KNOWN_ACCOUNT.id }, stored: 'account.name', as: KNOWN_ACCOUNT.name },
  { path: 'account', type: 'object', nullable: true, good: { domain: 'a.example' }, stored: 'account.domain', as: 'a.example' },
  { path: 'account.id', type: 'string', id: true, short: true, good: (known) => known.accountId, stored: 'feedback.account_id' },
  { path: 'account.name', type: 'string', short: true, good: unique, stored: 'account.name' },
  { path: 'account.domain', type: 'string', short: true, good: unique, stored: 'account.domain' },
  { path: 'account.contractValue', type: 'number', nullable: true, good: 99.5, stored: 'account.contract_value' },
  { path: 'account.sourceData', type: 'object', nullable: true, good: METADATA, stored: 'account.properties' },
  { path: 'accountId', type: 'string', nullable: true, id: true, short: true, good: (known) => known.accountId, stored: 'feedback.account_id' },
  { path: 'project', type: 'object', nullable: true, good: { name: 'Apollo' }, stored: 'project.name', as: 'Apollo' },
  { path: 'project.id', type: 'string', id: true, short: true, good: (known) => known.projectId, stored: 'feedback.project_id', answered: 'projectId' },
  { path: 'project.name', type: 'string', short: true, good: unique, stored: 'project.name' },
  { path: 'projectId', type: 'string', nullable: true, id: true, short: true, good: (known) => known.projectId, stored: 'feedback.project_id', answered: 'projectId' },
  { path: 'source', type: 'string', nullable: true, short: true, good: 'Zendesk', stored: 'feedback.source' },
  { path: 'sourceId', type: 'string', nullable: true, id: true, short: true, good: unique, stored: 'feedback.source_id', answered: 'sourceId' },
  { path: 'shouldUnflattenSourceData', type: 'boolean', nullable: true, good: true, with: { sourceData: DOTTED }, stored: 'feedback.source_data', as: NESTED },
  { path: 'sourceData', type: 'object', nullable: true, good: METADATA, stored: 'feedback.source_data', answered: 'sourceData' },
  { path: 'rating', type: 'number', nullable: true, good: 4.5, stored: 'feedback.rating', answered: 'rating' },
]

const purge: Row[] = [
  { path: 'id', type: 'string', nullable: true, id: true, short: true, good: unique },
  { path: 'email', type: 'string', nullable: true, short: true, good: (known) => emailOf(known.unique) },
  { path: 'source', type: 'string', nullable: true, short: true, good: 'API' },
]

const message: Row[] = [
  { path: 'messages.0', type: 'object', good: (known) => ({ ...MESSAGE, id: known.unique }), stored: 'message.external_id', as: unique },
  { path: 'messages.0.id', type: 'string', required: true, id: true, short: true, good: unique, stored: 'message.external_id' },
  { path: 'messages.0.incoming', type: 'boolean', required: true, good: false, stored: 'message.incoming' },
  { path: 'messages.0.contactId', type: 'string', id: true, short: true, good: KNOWN_CONTACT.id, stored: 'message.contact_id', as: (known) => known.contactId },
  { path: 'messages.0.content', type: 'string', required: true, good: 'Hello there', stored: 'message.content' },
  { path: 'messages.0.createdAt', type: 'date-time', required: true, good: TIME, stored: 'message.created_at' },
  { path: 'messages.0.shouldUnflattenProperties', type: 'boolean', nullable: true, good: true, with: { 'messages.0.properties': DOTTED }, stored: 'message.raw_data', as: NESTED },
  { path: 'messages.0.properties', type: 'object', good: METADATA, stored: 'message.raw_data' },
  { path: 'messages.0.sourceUrl', type: 'string', nullable: true, good: 'https://example.com/1', stored: 'message.source_url' },
]

const conversation: Row[] = [
  { path: 'id', type: 'string', required: true, id: true, short: true, good: unique, stored: 'conversation.external_id' },
  { path: 'title', type: 'string', nullable: true, good: 'A call', stored: 'conversation.title' },
  { path: 'source', type: 'string', required: true, short: true, good: 'Intercom', stored: 'conversation.source' },
  { path: 'createdAt', type: 'date-time', required: true, good: TIME, stored: 'conversation.created_at' },
  { path: 'updatedAt', type: 'date-time', nullable: true, good: TIME, stored: 'conversation.updated_at' },
  { path: 'contacts', type: 'array', required: true, good: (known) => [{ id: known.unique }], stored: 'contact_external_id.external_id', as: unique },
  { path: 'messages', type: 'array', required: true, good: (known) => [{ ...MESSAGE, id: known.unique }], stored: 'message.external_id', as: unique },
  { path: 'rating', type: 'number', nullable: true, good: 3, stored: 'conversation.rating' },
  { path: 'shouldUnflattenProperties', type: 'boolean', nullable: true, good: true, with: { properties: DOTTED }, stored: 'conversation.properties', as: NESTED },
  { path: 'propagatePropertiesToMessages', type: 'boolean', nullable: true, good: true, with: { properties: METADATA, 'messages.0.content': 'x' }, stored: 'message.raw_data', as: METADATA },
  { path: 'properties', type: 'object', good: METADATA, stored: 'conversation.properties' },
  { path: 'contacts.0', type: 'object', good: (known) => ({ id: known.unique }), stored: 'contact_external_id.external_id', as: unique },
  ...contact('contacts.0.'),
  ...message,
]

const MESSAGE = { incoming: true, content: 'Hello', createdAt: '2026-01-01T00:00:00Z' }

function unique(known: Known): string {
  return known.unique
}

/** The email of the contact that a purge is tried on. */
export const emailOf = (text: string): string => `${text}@example.com`

const of = (operation: OperationPath, rows: readonly Row[]): Field[] => rows.map((row) => ({ operation, ...row }))

export const FIELDS: readonly Field[] = [
  ...of('/feedbacks', feedback),
  ...of('/contacts/identify', contact('')),
  ...of('/accounts/identify', account('')),
  ...of('/contacts/purge', purge),
  ...of('/conversations', conversation),
]

export const SUCCESS_STATUS: Readonly<Record<OperationPath, number>> = {
  '/feedbacks': 201,
  '/contacts/identify': 201,
  '/accounts/identify': 201,
  '/contacts/purge': 200,
  '/conversations': 200,
}

/** The least that every operation takes. */
export const LEAST: Readonly<Record<OperationPath, (unique: string) => JsonObject>> = {
  '/feedbacks': () => ({ description: 'The export is slow' }),
  '/contacts/identify': (id) => ({ id }),
  '/accounts/identify': (id) => ({ id }),
  '/contacts/purge': (id) => ({ id, email: emailOf(id) }),
  '/conversations': (id) => ({ id, source: 'Intercom', createdAt: '2026-01-01T00:00:00Z', contacts: [], messages: [] }),
}

/** The least that a member around a field takes. */
export const containerAt = ({ operation, path }: { operation: OperationPath; path: string }, id: string): JsonValue => {
  if (operation === '/feedbacks') {
    const feedbackContainers: JsonObject = { tags: [], contact: { email: emailOf(id) }, account: { name: id }, project: {} }
    return feedbackContainers[path]!
  }
  if (path.endsWith('account.properties') || operation === '/accounts/identify') {
    return { $name: `Name of ${id}`, $domain: `${id}.example` }
  }
  if (path === 'contacts' || path === 'messages') return []
  if (path.endsWith('properties')) return {}
  return path === 'messages.0' ? { ...MESSAGE, id } : { id }
}
