import * as v from 'valibot'
import { about } from './fields.ts'
import type { Column, RecordTable } from './records/columns.ts'
import { type ReadRecord, type TableName, TABLES } from './records/tables.ts'

// The records as reads answer them. Postgres makes their JSON (`db/functions/records-read.sql`).

const text = (description: string) => about(v.string(), description)
const flag = (description: string) => about(v.boolean(), description)
export const anyObject = (description: string) =>
  about(
    v.pipe(v.record(v.string(), v.unknown()) as v.GenericSchema<object>, v.metadata({ additionalProperties: true })),
    description,
  )
const optional = v.exactOptional

const JSON_TYPES: Readonly<Record<Column['type'], (description: string) => v.GenericSchema>> = {
  uuid: text,
  text,
  '"char"': text,
  'text[]': (description) => about(v.array(v.string()), description),
  boolean: flag,
  integer: (description) => about(v.number(), description),
  bigint: (description) => about(v.number(), description),
  'double precision': (description) => about(v.number(), description),
  numeric: (description) => about(v.number(), description),
  timestamptz: (description) => about(v.pipe(v.string(), v.metadata({ format: 'date-time' })), description),
  jsonb: anyObject,
}

/** The schemas of joined members, by name. */
const JOINED: Readonly<Record<string, (description: string) => v.GenericSchema>> = {
  externalIds: (description) =>
    about(
      v.array(
        about(
          v.object({ source: text('The source system.'), id: text('The id in that system.') }),
          'An id in a source system.',
        ),
      ),
      description,
    ),
  customerIds: (description) => about(v.array(v.string()), description),
  themeId: (description) => optional(text(description)),
  name: (description) => optional(text(description)),
  alerts: (description) => about(v.array(v.lazy((): v.GenericSchema => alert)), description),
  changes: (description) => about(v.array(changeOfWeek), description),
}

const changeOfWeek = about(
  v.object({
    subject: text('`theme` or `kind`.'),
    themeId: optional(text('Own id of the theme.')),
    kind: optional(text('The kind of the texts.')),
    name: optional(text('The name of the theme now. Left out without one.')),
    people: about(v.number(), 'The people of the week.'),
    before: about(v.number(), 'The people of a mean week before.'),
  }),
  'What changed much in a week.',
)

/** `more`: members of the record that only a list has. */
export const schemaOf = <T extends TableName>(name: T, more: v.ObjectEntries = {}): v.GenericSchema<ReadRecord<T>> => {
  const { columns, joined = {}, about: description = '' }: RecordTable = TABLES[name]
  const members = Object.values(columns).flatMap((column): [string, v.GenericSchema][] =>
    column.read === undefined ? [] : [[column.read, memberOf(column)]],
  )
  const others = Object.entries(joined).map(
    ([member, { about: meaning }]) => [member, JOINED[member]!(meaning)] as const,
  )
  return about(v.object(Object.fromEntries([...members, ...others, ...Object.entries(more)])), description) as never
}

const memberOf = ({
  type,
  about: meaning = '',
  isOptional = false,
  isAlwaysRead = !isOptional,
}: Column): v.GenericSchema => {
  const schema = JSON_TYPES[type](meaning)
  return isAlwaysRead ? schema : optional(schema)
}

export const feedback = schemaOf('feedback')
export type Feedback = ReadRecord<'feedback'>
export const customer = schemaOf('contact')
export const account = schemaOf('account')
export const project = schemaOf('project')
export const theme = schemaOf('theme')
export type Theme = ReadRecord<'theme'>
export const alert = schemaOf('alert')
export type Alert = ReadRecord<'alert'> & { name?: string }
export const digest = schemaOf('digest')
export type Digest = ReadRecord<'digest'> & {
  alerts: Alert[]
  changes: (Pick<Alert, 'themeId' | 'kind' | 'name'> & { subject: string; people: number; before: number })[]
}
export const feedbackCategory = schemaOf('feedback_category')
export const conversation = schemaOf('conversation')
export type StoredConversation = ReadRecord<'conversation'> & { customerIds: string[]; themeId?: string }
export const message = schemaOf('message')
export type StoredMessage = ReadRecord<'message'>

const RECORDS = {
  feedback,
  customer,
  account,
  project,
  theme,
  alert,
  digest,
  feedback_category: feedbackCategory,
  conversation,
  message,
} as const
export type RecordKind = keyof typeof RECORDS
export const RECORD_KINDS = Object.keys(RECORDS) as [RecordKind, ...RecordKind[]]

const changeOf = <Kind extends RecordKind>(kind: Kind, more: v.ObjectEntries = {}) =>
  about(
    v.object({
      position: about(
        v.pipe(v.number(), v.integer(), v.minValue(1)),
        'The position of the change. Grows strictly in a workspace.',
      ),
      kind: about(v.literal(kind), 'The kind of the record.'),
      id: text('Own id of the record.'),
      deleted: flag('True if the record was removed.'),
      record: optional(
        about(
          v.lazy((): v.GenericSchema => RECORDS[kind]),
          'The record in its latest state; absent if it was removed.',
        ),
      ),
      ...more,
    }),
    `A changed record of the kind ${kind}, or its tombstone.`,
  )

const merged = { mergedInto: optional(text('Own id of the record that absorbed this one, if it was merged.')) }

/** The changes of each kind of record, by the name of their schema. */
export const CHANGES = {
  FeedbackChange: changeOf('feedback'),
  CustomerChange: changeOf('customer', merged),
  AccountChange: changeOf('account', merged),
  ProjectChange: changeOf('project'),
  ThemeChange: changeOf('theme'),
  AlertChange: changeOf('alert'),
  DigestChange: changeOf('digest'),
  FeedbackCategoryChange: changeOf('feedback_category'),
  ConversationChange: changeOf('conversation'),
  MessageChange: changeOf('message'),
} as const

const discriminator = {
  propertyName: 'kind',
  mapping: Object.fromEntries(
    Object.entries(CHANGES).map(([name, { entries }]) => [entries.kind.literal, `#/components/schemas/${name}`]),
  ),
}
const changed = (description: string) =>
  about(v.pipe(v.variant('kind', Object.values(CHANGES)), v.metadata({ discriminator })), description)

export const change = changed('A changed record, or the tombstone of a removed record.')

/** The body of a delivery to a webhook. */
export const webhookMessage = about(
  v.object({
    type: text('The kind of the record, and `.changed` or `.deleted`; or `webhook.test`.'),
    timestamp: about(v.pipe(v.string(), v.metadata({ format: 'date-time' })), 'When the record changed.'),
    data: changed('The change, as `GET /changes` answers it.'),
  }),
  'A message to a webhook.',
)
