import { storableDateTime } from '../date-time.ts'
import type { JsonObject, JsonValue } from '../json.ts'

/**
 * What is said about a contact or account, by name: `c:` and a column, `p:` and a metadata key, or `k:` and a key. Of several values
 * the one with the greatest rank holds. A value of an identify ranks by its acceptance number. A value of find-or-create ranks by its
 * negated number, so it is below every identify, and the first one is the highest.
 */
export type Facts = Record<string, [rank: number, value: JsonValue]>

/** The `$`-keys of the interface and the columns they fill. */
const COLUMNS: Readonly<Record<string, string>> = {
  $name: 'c:name',
  $email: 'c:email',
  $domain: 'c:domain',
  $contractValue: 'c:contractValue',
  $createdAt: 'c:createdAt',
  $updatedAt: 'c:updatedAt',
}
const DATE_TIMES = ['$createdAt', '$updatedAt']
const CONTACT_COLUMNS = ['$name', '$email', '$contractValue', '$createdAt', '$updatedAt']
const ACCOUNT_COLUMNS = ['$name', '$domain', '$contractValue', '$createdAt', '$updatedAt']

/** The facts of an identify call, whose properties have been unflattened. `$`-keys without a column are metadata. */
export const identifiedFacts = (kind: 'contact' | 'account', properties: JsonObject, number: number): Facts => {
  const columns = kind === 'contact' ? CONTACT_COLUMNS : ACCOUNT_COLUMNS
  const facts: Facts = {}
  for (const [key, value] of Object.entries(properties)) {
    if (!columns.includes(key)) facts[`p:${key}`] = [number, value]
    else
      facts[COLUMNS[key]!] = [
        number,
        DATE_TIMES.includes(key) && typeof value === 'string' ? storableDateTime(value) : value,
      ]
  }
  return facts
}

/** The key of the email that a contact has now. A purge by email compares it. */
export const emailKeyFact = (emailKey: string | null, number: number): Facts => ({ 'k:email': [number, emailKey] })

/** The facts of a find-or-create reference: its columns that have a value, and its source data as metadata. */
export const givenFacts = (
  columns: Readonly<Record<string, JsonValue | undefined>>,
  sourceData: JsonObject | null | undefined,
  number: number,
): Facts => {
  const facts: Facts = {}
  for (const [column, value] of Object.entries(columns)) {
    if (value != null) facts[`c:${column}`] = [-number, value]
  }
  for (const [key, value] of Object.entries(sourceData ?? {})) facts[`p:${key}`] = [-number, value]
  return facts
}

/**
 * What one submission says several times of one account. All of it has one rank, and the later value holds. That of the metadata
 * keys no more than 1,000 are kept is decided where they are stored (db/functions/facts.sql).
 */
export const mergeFacts = (sayings: readonly Facts[]): Facts => {
  const merged: Facts = {}
  for (const facts of sayings) Object.assign(merged, facts)
  return merged
}
