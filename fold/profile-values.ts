import type { AccountRecord, ContactRecord } from '../contract/contact-record.ts'
import { postgresDateTime } from '../contract/date-time.ts'
import { type JsonObject, type JsonValue, setMember } from '../contract/json.ts'
import { unflattenIf } from '../contract/unflatten.ts'

/** Values of a contact or account: columns and metadata. */
export type ProfileValues = { columns: Readonly<Record<string, JsonValue>>; properties: JsonObject }

/** The `$`-keys that have a column in both tables. A key without a column is metadata. */
const SHARED = {
  $name: 'name',
  $contractValue: 'contract_value',
  $createdAt: 'source_created_at',
  $updatedAt: 'source_updated_at',
}
const COLUMNS: Readonly<Record<'contact' | 'account', Readonly<Record<string, string>>>> = {
  contact: { ...SHARED, $email: 'email' },
  account: { ...SHARED, $domain: 'domain' },
}

/** The values of an identify. */
export const identifiedValues = (kind: 'contact' | 'account', record: ContactRecord | AccountRecord): ProfileValues => {
  const given = unflattenIf(record.shouldUnflattenProperties, record.properties ?? {})
  const columns: Record<string, JsonValue> = {}
  const properties: JsonObject = {}
  for (const key of Object.keys(given)) {
    const value = given[key]!
    const column = Object.hasOwn(COLUMNS[kind], key) ? COLUMNS[kind][key] : undefined
    if (column === undefined) setMember(properties, key, value)
    else columns[column] = isTime(column) && typeof value === 'string' ? postgresDateTime(value) : value
  }
  return { columns, properties }
}

const isTime = (column: string): boolean => column === 'source_created_at' || column === 'source_updated_at'

/** The text of a column; empty if the column has no value. */
export const textOf = ({ columns }: ProfileValues, column: string): string => {
  const value = columns[column]
  return typeof value === 'string' ? value : ''
}
