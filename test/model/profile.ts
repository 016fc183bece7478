import type { AccountRecord, ContactRecord } from '../../contract/contact-record.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { unflatten } from '../../contract/unflatten.ts'

/** The bound on the metadata keys of one contact or account. */
const MOST_PROPERTIES = 1_000

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

/** A contact, an account or a project. */
export type Profile = {
  readonly id: string
  readonly columns: Map<string, JsonValue>
  properties: Map<string, JsonValue>
  /** The number of the first submission that named the profile, or one that it has absorbed. */
  firstNumber: number
  /** The number of the first submission that named the profile itself. */
  readonly listedNumber: number
  /** The number of the last submission that changed the profile. */
  number: number
  /** Of all submissions that changed it, the greatest number at acceptance. */
  newestNumber: number
  /** The account of a contact. */
  account: Profile | null
  absorbedBy: Profile | null
}

/** The values of an identify or reference: values with a column, and metadata. */
type Values = { columns: Readonly<Record<string, JsonValue>>; properties: JsonObject }

/** The number of a submission. A replay also has its original number. */
export type Moment = { number: number; originalNumber?: number | undefined }

export const openProfile = (id: string, { number, originalNumber = number }: Moment): Profile => ({
  id,
  columns: new Map(),
  properties: new Map(),
  firstNumber: number,
  listedNumber: number,
  number,
  newestNumber: originalNumber,
  account: null,
  absorbedBy: null,
})

/** The profile into which all merges lead. */
export const current = (profile: Profile): Profile => (profile.absorbedBy ? current(profile.absorbedBy) : profile)

/** The time of a date-time of RFC 3339, in milliseconds. */
export const timeOf = (dateTime: string): number => Date.parse(dateTime.toUpperCase())

/** The values of a contact or account record. */
export const valuesOf = (record: ContactRecord | AccountRecord, kind: 'contact' | 'account'): Values => {
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

/**
 * Sets the values of a record. A late record only fills absent values. Returns whether the record
 * is late.
 */
export const identify = (profile: Profile, values: Values, moment: Moment): boolean => {
  const isLate = hasNewerValues(profile, values, moment)
  if (isLate) fill(profile, values, moment)
  else replace(profile, values, moment)
  return isLate
}

/** Whether the stored values are newer: by `$updatedAt`, or by the original number of a replay. */
const hasNewerValues = (profile: Profile, values: Values, { originalNumber }: Moment): boolean => {
  if (originalNumber !== undefined && profile.newestNumber > originalNumber) return true
  const stored = profile.columns.get('source_updated_at') ?? null
  const given = values.columns['source_updated_at'] ?? null
  return stored !== null && given !== null && timeOf(given as string) < timeOf(stored as string)
}

/**
 * Sets every given value, even null. Beyond the bound, the given keys stay, then the others in the
 * order of their names.
 */
const replace = (profile: Profile, values: Values, moment: Moment): void => {
  for (const [column, value] of Object.entries(values.columns)) profile.columns.set(column, value)
  for (const [key, value] of Object.entries(values.properties)) profile.properties.set(key, value)
  touch(profile, moment)
  if (profile.properties.size <= MOST_PROPERTIES) return
  const given = Object.keys(values.properties).sort()
  const others = [...profile.properties.keys()].filter((key) => !given.includes(key)).sort()
  const kept = [...given, ...others].slice(0, MOST_PROPERTIES)
  profile.properties = new Map(kept.map((key) => [key, profile.properties.get(key)!]))
}

/** Sets missing values. A null column has no value; a null metadata key has one. */
export const fill = (profile: Profile, values: Values, moment: Moment): void => {
  const columns = Object.entries(values.columns).filter(
    ([column, value]) => value !== null && (profile.columns.get(column) ?? null) === null,
  )
  for (const [column, value] of columns) profile.columns.set(column, value)
  const room = Math.max(0, MOST_PROPERTIES - profile.properties.size)
  const missing = Object.keys(values.properties).filter((key) => !profile.properties.has(key))
  const keys = missing.sort().slice(0, room)
  for (const key of keys) profile.properties.set(key, values.properties[key]!)
  if (columns.length > 0 || keys.length > 0) touch(profile, moment)
}

/** Merges an anonymous profile, known only by a weak key, into the profile that claims the key. */
export const absorb = (absorber: Profile, anonymous: Profile, moment: Moment): void => {
  const { columns, properties } = anonymous
  fill(absorber, { columns: Object.fromEntries(columns), properties: Object.fromEntries(properties) }, moment)
  touch(absorber, moment)
  absorber.firstNumber = Math.min(absorber.firstNumber, anonymous.firstNumber)
  anonymous.absorbedBy = absorber
}

export const touch = (profile: Profile, { number, originalNumber = number }: Moment): void => {
  profile.number = number
  profile.newestNumber = Math.max(profile.newestNumber, originalNumber)
}
