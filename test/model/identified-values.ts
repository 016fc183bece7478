import type { AccountRecord, ContactRecord } from '../../contract/contact-record.ts'
import type { JsonValue } from '../../contract/json.ts'
import { unflatten } from '../../contract/unflatten.ts'
import type { Values } from './profile.ts'

/** The `$`-keys of the interface; other keys are metadata. */
const SHARED_COLUMNS = [
  ['$name', 'name'],
  ['$contractValue', 'contract_value'],
  ['$createdAt', 'source_created_at'],
  ['$updatedAt', 'source_updated_at'],
] as const
const COLUMNS = {
  contact: new Map<string, string>([...SHARED_COLUMNS, ['$email', 'email']]),
  account: new Map<string, string>([...SHARED_COLUMNS, ['$domain', 'domain']]),
}

/** The properties of a contact or account record. */
export const identifiedValues = (record: ContactRecord | AccountRecord, kind: 'contact' | 'account'): Values => {
  const given = record.properties ?? {}
  const columns: [string, JsonValue][] = []
  const properties: [string, JsonValue][] = []
  for (const [key, value] of Object.entries(record.shouldUnflattenProperties === true ? unflatten(given) : given)) {
    const column = COLUMNS[kind].get(key)
    if (column === undefined) properties.push([key, value])
    else columns.push([column, value])
  }
  return { columns: Object.fromEntries(columns), properties: Object.fromEntries(properties) }
}
