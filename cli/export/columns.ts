import { readFileSync } from 'node:fs'
import type { RecordKind } from '../../contract/record-schemas.ts'
import { parseExactly, writtenNumber } from '../../runtime/exact-json.ts'

export type ColumnType = 'text' | 'number' | 'flag' | 'time' | 'texts' | 'json'
export type Columns = Readonly<Record<string, ColumnType>>

type Member = { type: string; format?: string; items?: Member }
type RecordReference = { components: { schemas: Record<string, { properties: Record<string, Member> }> } }

const REFERENCE = new URL('../../api/openapi/openapi.json', import.meta.url)
/** The schema of each kind of record in the reference. */
const SCHEMAS: Readonly<Record<RecordKind, string>> = {
  feedback: 'Feedback',
  customer: 'Customer',
  account: 'Account',
  project: 'Project',
  theme: 'Theme',
  alert: 'Alert',
  digest: 'Digest',
  feedback_category: 'FeedbackCategory',
  conversation: 'StoredConversation',
  message: 'StoredMessage',
}
const TYPES: Readonly<Record<string, ColumnType>> = { string: 'text', number: 'number', boolean: 'flag' }

/** The members of a kind of record, as columns of a table, in the order of the reference. */
export const columnsOf = (kind: RecordKind): Columns => {
  const { components } = JSON.parse(readFileSync(REFERENCE, 'utf8')) as RecordReference
  const members = Object.entries(components.schemas[SCHEMAS[kind]]!.properties)
  return Object.fromEntries(members.map(([name, member]) => [name, columnType(member)]))
}

const columnType = ({ type, format, items }: Member): ColumnType => {
  if (type === 'array' && items?.type === 'string') return 'texts'
  return format === 'date-time' ? 'time' : (TYPES[type] ?? 'json')
}

/**
 * The values of a record in the order of its columns: texts unchanged, numbers without an exponent,
 * other values as JSON text, absent values as undefined.
 */
export const valuesOf = (columns: Columns, record: string): (string | undefined)[] => {
  const members = parseExactly(record) as Record<string, unknown>
  return Object.keys(columns).map((name) => {
    const value = members[name]
    if (value === undefined || typeof value === 'string') return value
    const number = writtenNumber(value)
    return number === undefined ? JSON.stringify(value) : withoutExponent(number)
  })
}

const WITH_EXPONENT = /^(-?)(\d+)(?:\.(\d+))?e([+-]?\d+)$/i

/** The same number in digits: 1000000000000000 for 1e+15. */
const withoutExponent = (number: string): string => {
  const [, sign, whole = '', fraction = '', exponent] = WITH_EXPONENT.exec(number) ?? []
  if (sign === undefined) return number
  const digits = whole + fraction
  const point = whole.length + Number(exponent)
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`
  if (point >= digits.length) return `${sign}${digits}${'0'.repeat(point - digits.length)}`
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
}
