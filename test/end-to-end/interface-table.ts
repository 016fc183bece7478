import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { Operation } from '../../contract/submission.ts'

export type OperationPath =
  '/feedbacks' | '/contacts/identify' | '/accounts/identify' | '/contacts/purge' | '/conversations'

export const PATHS = {
  create_feedback: '/feedbacks',
  identify_contact: '/contacts/identify',
  identify_account: '/accounts/identify',
  submit_conversation: '/conversations',
  purge_contact: '/contacts/purge',
} as const satisfies Partial<Record<Operation, OperationPath>>

/** The status with which each operation accepts. */
export const SUCCESS: Readonly<Record<OperationPath, number>> = {
  '/feedbacks': 201,
  '/contacts/identify': 201,
  '/accounts/identify': 201,
  '/contacts/purge': 200,
  '/conversations': 200,
}
/** 512 characters. The last one has two units of UTF-16. */
export const LONGEST = `${'x'.repeat(509)}@x😀`

/** `short`: at most 512 characters; `id`: short and not empty; `text`: another bound or none. */
export type Kind = 'text' | 'short' | 'id' | 'number' | 'boolean' | 'date-time' | 'object' | 'array'
/** An optional field may be absent. A nullable field may be absent or null. */
type Presence = 'required' | 'optional' | 'nullable'

/** The ids of existing records, and a text that no stored record has. */
export type Known = { contactId: string; accountId: string; projectId: string; unique: string }

export const KNOWN_CONTACT = { id: 'known-contact', name: 'Ada Known' }
export const KNOWN_ACCOUNT = { id: 'known-account', name: 'Known Inc', domain: 'known.example' }
export const KNOWN_PROJECT = { name: 'Known project' }

export type Given = JsonValue | ((known: Known) => JsonValue)
type More = {
  /** The stored value, if it differs from the sent value. */
  as?: Given
  /** Further members of the body, without which the field has no effect. */
  with?: Readonly<JsonObject>
  /** The member of the answer that repeats the value. */
  answered?: string
}
/** `stored`: the table and column of the value; null in a purge, whose body is not stored. */
type Row = readonly [path: string, kind: Kind, presence: Presence, good: Given, stored: string | null, more?: More]

export type Field = {
  readonly operation: OperationPath
  readonly path: string
  readonly kind: Kind
  readonly presence: Presence
  readonly good: Given
  readonly stored: string | null
  readonly more: More
}

const unique = (known: Known): string => known.unique
const contactId = (known: Known): string => known.contactId
const accountId = (known: Known): string => known.accountId
const projectId = (known: Known): string => known.projectId
export const emailOf = (text: string): string => `${text}@example.com`

const TIME = '2026-01-31T09:30:00.123+02:00'
const METADATA = { plan: 'gold', 'region.code': 'EU', nested: { list: [1, null, 'x'] }, none: null }
const DOTTED = { 'plan.name': 'gold', 'plan.seats': 5 }
const NESTED = { plan: { name: 'gold', seats: 5 } }
const NAMED = { $name: 'Acme', $domain: 'acme.example' }
export const MESSAGE = { incoming: true, content: 'Hello', createdAt: '2026-01-01T00:00:00Z' }

const message = (known: Known): JsonObject => ({ ...MESSAGE, id: known.unique })
const contact = (known: Known): JsonObject => ({ id: known.unique })

/** A flag that unflattens the free object beside it. */
const unflattens = (path: string, stored: string, named: JsonObject = {}): Row => {
  const free = path.replace(/shouldUnflatten(.)/, (_, first: string) => first.toLowerCase())
  return [path, 'boolean', 'nullable', true, stored, { as: NESTED, with: { [free]: { ...named, ...DOTTED } } }]
}

const accountRecord = (at: string): Row[] => [
  [`${at}id`, 'id', 'required', unique, 'account_external_id.external_id'],
  unflattens(`${at}shouldUnflattenProperties`, 'account.properties', NAMED),
  [`${at}properties`, 'object', 'optional', { ...NAMED, ...METADATA }, 'account.properties', { as: METADATA }],
  [`${at}properties.$name`, 'short', 'required', unique, 'account.name'],
  [`${at}properties.$domain`, 'short', 'required', unique, 'account.domain'],
  [`${at}properties.$createdAt`, 'date-time', 'nullable', TIME, 'account.source_created_at'],
  [`${at}properties.$updatedAt`, 'date-time', 'nullable', TIME, 'account.source_updated_at'],
  [`${at}properties.$contractValue`, 'number', 'nullable', 1234.5, 'account.contract_value'],
]

const contactRecord = (at: string): Row[] => [
  [`${at}id`, 'id', 'required', unique, 'contact_external_id.external_id'],
  unflattens(`${at}shouldUnflattenProperties`, 'contact.properties'),
  [`${at}properties`, 'object', 'nullable', METADATA, 'contact.properties'],
  [`${at}properties.$email`, 'short', 'nullable', unique, 'contact.email'],
  [`${at}properties.$name`, 'text', 'nullable', 'Grace', 'contact.name'],
  [`${at}properties.$createdAt`, 'date-time', 'nullable', TIME, 'contact.source_created_at'],
  [`${at}properties.$updatedAt`, 'date-time', 'nullable', TIME, 'contact.source_updated_at'],
  [`${at}properties.$contractValue`, 'number', 'nullable', -0.25, 'contact.contract_value'],
  [`${at}account`, 'object', 'nullable', { id: 'nested' }, 'account_external_id.external_id', { as: 'nested' }],
  [`${at}source`, 'short', 'nullable', 'Zendesk', 'contact_external_id.source'],
  ...accountRecord(`${at}account.`),
]

const FEEDBACK: Row[] = [
  ['description', 'text', 'required', '<p>The <b>export</b></p>', 'feedback.description', { answered: 'description' }],
  ['title', 'text', 'nullable', 'Export', 'feedback.title'],
  ['isTranscript', 'boolean', 'nullable', true, 'feedback.is_transcript'],
  ['tags', 'array', 'nullable', ['Export', 'Speed'], 'feedback.tags'],
  ['tags.0', 'text', 'optional', 'Export', 'feedback.tags', { as: ['Export'] }],
  [
    'isExternalContactId',
    'boolean',
    'optional',
    true,
    'contact.name',
    { as: KNOWN_CONTACT.name, with: { contactId: KNOWN_CONTACT.id } },
  ],
  ['contact', 'object', 'nullable', { email: 'c@example.com' }, 'contact.email', { as: 'c@example.com' }],
  ['contact.id', 'id', 'optional', contactId, 'feedback.contact_id', { answered: 'customerId' }],
  ['contact.name', 'text', 'optional', 'Grace', 'contact.name'],
  ['contact.email', 'short', 'optional', unique, 'contact.email'],
  ['contact.sourceData', 'object', 'nullable', METADATA, 'contact.properties'],
  ['contactId', 'id', 'nullable', contactId, 'feedback.contact_id', { answered: 'customerId' }],
  [
    'isExternalAccountId',
    'boolean',
    'optional',
    true,
    'account.name',
    { as: KNOWN_ACCOUNT.name, with: { accountId: KNOWN_ACCOUNT.id } },
  ],
  ['account', 'object', 'nullable', { domain: 'a.example' }, 'account.domain', { as: 'a.example' }],
  ['account.id', 'id', 'optional', accountId, 'feedback.account_id'],
  ['account.name', 'short', 'optional', unique, 'account.name'],
  ['account.domain', 'short', 'optional', unique, 'account.domain'],
  ['account.contractValue', 'number', 'nullable', 99.5, 'account.contract_value'],
  ['account.sourceData', 'object', 'nullable', METADATA, 'account.properties'],
  ['accountId', 'id', 'nullable', accountId, 'feedback.account_id'],
  ['project', 'object', 'nullable', { name: 'Apollo' }, 'project.name', { as: 'Apollo' }],
  ['project.id', 'id', 'optional', projectId, 'feedback.project_id', { answered: 'projectId' }],
  ['project.name', 'short', 'optional', unique, 'project.name'],
  ['projectId', 'id', 'nullable', projectId, 'feedback.project_id', { answered: 'projectId' }],
  ['source', 'short', 'nullable', 'Zendesk', 'feedback.source'],
  ['sourceId', 'id', 'nullable', unique, 'feedback.source_id', { answered: 'sourceId' }],
  unflattens('shouldUnflattenSourceData', 'feedback.source_data'),
  ['sourceData', 'object', 'nullable', METADATA, 'feedback.source_data', { answered: 'sourceData' }],
  ['rating', 'number', 'nullable', 4.5, 'feedback.rating', { answered: 'rating' }],
  ['createdAt', 'date-time', 'nullable', TIME, 'feedback.source_created_at'],
]

const PURGE: Row[] = [
  ['id', 'id', 'nullable', unique, null],
  ['email', 'short', 'nullable', (known) => emailOf(known.unique), null],
  ['source', 'short', 'nullable', 'API', null],
]

const CONVERSATION: Row[] = [
  ['id', 'id', 'required', unique, 'conversation.external_id'],
  ['title', 'text', 'nullable', 'A call', 'conversation.title'],
  ['source', 'short', 'required', 'Intercom', 'conversation.source'],
  ['createdAt', 'date-time', 'required', TIME, 'conversation.created_at'],
  ['updatedAt', 'date-time', 'nullable', TIME, 'conversation.updated_at'],
  ['contacts', 'array', 'required', (known) => [contact(known)], 'contact_external_id.external_id', { as: unique }],
  ['messages', 'array', 'required', (known) => [message(known)], 'message.external_id', { as: unique }],
  ['rating', 'number', 'nullable', 3, 'conversation.rating'],
  unflattens('shouldUnflattenProperties', 'conversation.properties'),
  [
    'propagatePropertiesToMessages',
    'boolean',
    'nullable',
    true,
    'message.raw_data',
    { as: METADATA, with: { properties: METADATA, 'messages.0.content': 'Hello' } },
  ],
  ['properties', 'object', 'optional', METADATA, 'conversation.properties'],
  ['contacts.0', 'object', 'optional', contact, 'contact_external_id.external_id', { as: unique }],
  ...contactRecord('contacts.0.'),
  ['messages.0', 'object', 'optional', message, 'message.external_id', { as: unique }],
  ['messages.0.id', 'id', 'required', unique, 'message.external_id'],
  ['messages.0.incoming', 'boolean', 'required', false, 'message.incoming'],
  ['messages.0.contactId', 'id', 'optional', KNOWN_CONTACT.id, 'message.contact_id', { as: contactId }],
  ['messages.0.content', 'text', 'required', 'Hello there', 'message.content'],
  ['messages.0.createdAt', 'date-time', 'required', TIME, 'message.created_at'],
  unflattens('messages.0.shouldUnflattenProperties', 'message.raw_data'),
  ['messages.0.properties', 'object', 'optional', METADATA, 'message.raw_data'],
  ['messages.0.sourceUrl', 'text', 'nullable', 'https://example.com/1', 'message.source_url'],
]

const fieldsOf = (operation: OperationPath, rows: readonly Row[]): Field[] =>
  rows.map(([path, kind, presence, good, stored, more = {}]) => ({
    operation,
    path,
    kind,
    presence,
    good,
    stored,
    more,
  }))

/** All fields of the interface, with the bounds that the service adds. */
export const FIELDS: readonly Field[] = [
  ...fieldsOf('/feedbacks', FEEDBACK),
  ...fieldsOf('/contacts/identify', contactRecord('')),
  ...fieldsOf('/accounts/identify', accountRecord('')),
  ...fieldsOf('/contacts/purge', PURGE),
  ...fieldsOf('/conversations', CONVERSATION),
]

export const valueOf = (given: Given, known: Known): JsonValue => (typeof given === 'function' ? given(known) : given)

/** Whether tests also submit `LONGEST`. A looked-up id that no record has is not stored. */
export const isTestedWithLongest = ({ kind, stored }: Field): boolean =>
  kind === 'short' || (kind === 'id' && !isLookedUp(stored))

/** Whether the column has the own id of an existing record that the field names. */
const isLookedUp = (stored: string | null): boolean => /\.(?:contact|account|project)_id$/.test(stored ?? '')
