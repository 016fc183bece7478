import type { GenericSchema } from 'valibot'
import type { Client } from '../../client/client.ts'
import type { Batchable } from '../../contract/batch-request.ts'
import { accountRecord, contactRecord } from '../../contract/contact-record.ts'
import { conversationRecord } from '../../contract/conversation-record.ts'
import { feedbackRecord } from '../../contract/feedback-record.ts'
import type { Column } from '../../contract/records/columns.ts'
import { type TableName, TABLES } from '../../contract/records/tables.ts'
import { MAX_BODY_BYTES, MAX_CONVERSATION_BODY_BYTES } from '../../contract/limits.ts'

export const KINDS = ['feedback', 'contacts', 'accounts', 'conversations'] as const
export type Kind = (typeof KINDS)[number]

/**
 * How the text of a cell becomes a value. Several columns can make one `prose`, `content` or
 * `words`. An empty cell is an empty text in `content`, and has no value in other types. A cell of
 * `object` is JSON. `any` keeps the value of a JSON file. An `id` or a `name` can be a placeholder.
 */
export type FieldType =
  'any' | 'text' | 'name' | 'prose' | 'content' | 'id' | 'number' | 'flag' | 'time' | 'words' | 'object'

type KindOfRecord = {
  readonly call: keyof Client
  readonly operation: Batchable
  readonly schema: GenericSchema
  readonly maxBytes: number
  /**
   * The fields that a cell can become. In a conversation, each row adds at most one `message.` and
   * one `contact.`.
   */
  readonly fields: Readonly<Record<string, FieldType>>
  /** Objects with free keys. */
  readonly free: readonly string[]
  /** Column names that need no mapping, with their fields. The names of fields need none either. */
  readonly usual: Readonly<Record<string, string>>
  /** Records with the same value of this field can change the same row, so their order matters. */
  readonly id: 'id' | 'sourceId'
}

type Names = Readonly<Partial<Record<FieldType, readonly string[]>>>

const byName = (names: Names): Readonly<Record<string, FieldType>> =>
  Object.fromEntries(
    Object.entries(names).flatMap(([type, fields]) => fields.map((field) => [field, type as FieldType] as const)),
  )

/** The cells of a column that is stored as it is given. */
const CELLS: Readonly<Partial<Record<Column['type'], FieldType>>> = {
  text: 'text',
  boolean: 'flag',
  'double precision': 'number',
  timestamptz: 'time',
}

/** The fields that are stored as they are given, by the types of their columns. */
const givenFields = (table: TableName, prefix = ''): Readonly<Record<string, FieldType>> =>
  Object.fromEntries(
    Object.values<Column>(TABLES[table].columns).flatMap(({ given, type }) => {
      const cell = CELLS[type]
      return given === undefined || cell === undefined ? [] : [[`${prefix}${given}`, cell]]
    }),
  )

const PROPERTIES: Names = {
  id: ['id'],
  time: ['properties.$createdAt', 'properties.$updatedAt'],
  number: ['properties.$contractValue'],
  flag: ['shouldUnflattenProperties'],
}

export const RECORDS: Readonly<Record<Kind, KindOfRecord>> = {
  feedback: {
    call: 'createFeedback',
    operation: 'create_feedback',
    schema: feedbackRecord,
    maxBytes: MAX_BODY_BYTES,
    fields: {
      ...givenFields('feedback'),
      ...byName({
        prose: ['description'],
        name: ['contact.name', 'contact.email', 'account.name', 'account.domain', 'project.name'],
        text: ['source'],
        id: ['sourceId', 'contact.id', 'contactId', 'account.id', 'accountId', 'project.id', 'projectId'],
        flag: ['isExternalContactId', 'isExternalAccountId', 'shouldUnflattenSourceData'],
        number: ['account.contractValue'],
        words: ['tags'],
      }),
    },
    free: ['sourceData', 'contact.sourceData', 'account.sourceData'],
    usual: {},
    id: 'sourceId',
  },
  contacts: {
    call: 'identifyContact',
    operation: 'identify_contact',
    schema: contactRecord,
    maxBytes: MAX_BODY_BYTES,
    fields: byName({
      ...PROPERTIES,
      id: ['id', 'account.id'],
      text: ['source'],
      flag: ['shouldUnflattenProperties', 'account.shouldUnflattenProperties'],
      number: ['properties.$contractValue', 'account.properties.$contractValue'],
    }),
    free: ['properties', 'account.properties'],
    usual: { name: 'properties.$name', email: 'properties.$email' },
    id: 'id',
  },
  accounts: {
    call: 'identifyAccount',
    operation: 'identify_account',
    schema: accountRecord,
    maxBytes: MAX_BODY_BYTES,
    fields: byName(PROPERTIES),
    free: ['properties'],
    usual: { name: 'properties.$name', domain: 'properties.$domain' },
    id: 'id',
  },
  conversations: {
    call: 'submitConversation',
    operation: 'submit_conversation',
    schema: conversationRecord,
    maxBytes: MAX_CONVERSATION_BODY_BYTES,
    fields: {
      ...givenFields('conversation'),
      ...givenFields('message', 'message.'),
      ...byName({
        id: ['id', 'contact.id', 'message.id', 'message.contactId'],
        text: ['contact.source'],
        flag: ['shouldUnflattenProperties', 'propagatePropertiesToMessages'],
        content: ['message.content'],
      }),
    },
    free: ['properties', 'contact.properties', 'message.properties'],
    usual: {},
    id: 'id',
  },
}

/**
 * The path of a field, and its type; undefined when a kind has no such field. Below a free object,
 * the rest of the name is one member.
 */
export const findField = (kind: Kind, name: string): { path: string[]; type: FieldType } | undefined => {
  const { fields, free } = RECORDS[kind]
  if (free.includes(name)) return { path: name.split('.'), type: 'object' }
  const home = free.find((prefix) => name.startsWith(`${prefix}.`) && name.length > prefix.length + 1)
  if (home !== undefined)
    return { path: [...home.split('.'), name.slice(home.length + 1)], type: fields[name] ?? 'any' }
  const type = Object.hasOwn(fields, name) ? fields[name] : undefined
  return type === undefined ? undefined : { path: name.split('.'), type }
}

/** The field that a column becomes without a mapping. Case, spaces and punctuation do not matter. */
export const usualField = (kind: Kind, column: string): string | undefined => {
  if (findField(kind, column)) return column
  const { fields, usual } = RECORDS[kind]
  const known = [...Object.keys(fields).map((name) => [name, name] as const), ...Object.entries(usual)]
  return known.find(([name]) => plainName(name) === plainName(column))?.[1]
}

/** A name of punctuation alone, such as `#`, stays. */
export const plainName = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}$]/gu, '') || name
