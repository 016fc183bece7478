import type { RecordKind } from '../../db/reads/records.ts'

export type ColumnType = 'text' | 'number' | 'flag' | 'time' | 'json'
export type Columns = Readonly<Record<string, ColumnType>>

const PROFILE: Columns = {
  contractValue: 'number',
  externalIds: 'json',
  properties: 'json',
  sourceCreatedAt: 'time',
  sourceUpdatedAt: 'time',
  createdAt: 'time',
  updatedAt: 'time',
}

/** The members of each kind of record, as columns of a table. */
export const COLUMNS: Readonly<Record<RecordKind, Columns>> = {
  feedback: {
    id: 'text',
    description: 'text',
    customerId: 'text',
    projectId: 'text',
    rating: 'number',
    sourceId: 'text',
    sourceData: 'json',
    title: 'text',
    isTranscript: 'flag',
    tags: 'json',
    tagsGenerated: 'flag',
    source: 'text',
    accountId: 'text',
    createdAt: 'time',
    acceptedAt: 'time',
    updatedAt: 'time',
  },
  customer: { id: 'text', name: 'text', email: 'text', accountId: 'text', ...PROFILE },
  account: { id: 'text', name: 'text', domain: 'text', ...PROFILE },
  project: { id: 'text', name: 'text', description: 'text', createdAt: 'time' },
  feedback_category: { id: 'text', title: 'text' },
  conversation: {
    id: 'text',
    title: 'text',
    source: 'text',
    externalId: 'text',
    rating: 'number',
    tags: 'json',
    customerIds: 'json',
    properties: 'json',
    createdAt: 'time',
    updatedAt: 'time',
  },
  message: {
    id: 'text',
    conversationId: 'text',
    externalId: 'text',
    incoming: 'flag',
    customerId: 'text',
    content: 'text',
    sourceUrl: 'text',
    rawData: 'json',
    createdAt: 'time',
  },
}

/** A number that `JSON.parse` would round keeps its digits. */
type Reviver = (key: string, value: unknown, context: { source: string }) => unknown
const { parse, rawJSON } = JSON as unknown as {
  parse: (text: string, reviver: Reviver) => unknown
  rawJSON: (text: string) => unknown
}
const asWritten: Reviver = (_key, value, { source }) => (typeof value === 'number' ? rawJSON(source) : value)

/**
 * The values of a record in the order of its columns: texts unchanged, other values as JSON text,
 * absent values as undefined.
 */
export const valuesOf = (columns: Columns, record: string): (string | undefined)[] => {
  const members = parse(record, asWritten) as Record<string, unknown>
  return Object.keys(columns).map((name) => {
    const value = members[name]
    return value === undefined || typeof value === 'string' ? value : JSON.stringify(value)
  })
}
