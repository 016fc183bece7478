import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { instant } from './tables.ts'

/** The bound on the metadata keys of one contact or account. */
const MOST_PROPERTIES = 1_000

/**
 * A contact, an account or a project. A value has no rank: an identify sets it, and a reference
 * fills absent values.
 */
export type Profile = {
  readonly id: string
  readonly columns: Map<string, JsonValue>
  properties: Map<string, JsonValue>
  /** The first submission about it. */
  firstNumber: number
  /** The last submission that changed it, and the one before that. */
  number: number
  priorNumber: number
  /** The account of a contact. */
  account: Profile | null
  /** The profile that this one was merged into. */
  absorbedBy: Profile | null
}

/** The values of an identify or reference: values with a column, and metadata. */
export type Values = { columns: Readonly<Record<string, JsonValue>>; properties: JsonObject }

/** When a submission was accepted. A replay also has its original number. */
export type Moment = { number: number; originalNumber?: number | undefined }

export const openProfile = (id: string, number: number): Profile => ({
  id,
  columns: new Map(),
  properties: new Map(),
  firstNumber: number,
  number,
  priorNumber: 0,
  account: null,
  absorbedBy: null,
})

/** The profile that this one means after all merges. */
export const current = (profile: Profile): Profile => (profile.absorbedBy ? current(profile.absorbedBy) : profile)

/** Whether a newer submission has written the stored values. */
export const isLate = (profile: Profile, values: Values, { number, originalNumber }: Moment): boolean => {
  const before = profile.number === number ? profile.priorNumber : profile.number
  if (originalNumber !== undefined && before > originalNumber) return true
  const stored = profile.columns.get('source_updated_at') ?? null
  const given = values.columns['source_updated_at'] ?? null
  return stored !== null && given !== null && instant(given as string) < instant(stored as string)
}

/**
 * Sets every given value, even null. Beyond the bound, the keys of this identify stay, then the
 * first by name.
 */
export const identify = (profile: Profile, values: Values, number: number): void => {
  for (const [column, value] of Object.entries(values.columns)) profile.columns.set(column, value)
  for (const [key, value] of Object.entries(values.properties)) profile.properties.set(key, value)
  touch(profile, number)
  if (profile.properties.size <= MOST_PROPERTIES) return
  const given = Object.keys(values.properties).sort()
  const others = [...profile.properties.keys()].filter((key) => !given.includes(key)).sort()
  const kept = [...given, ...others].slice(0, MOST_PROPERTIES)
  profile.properties = new Map(kept.map((key) => [key, profile.properties.get(key)!]))
}

/** Sets missing values. A null column has no value; a null metadata key has one. */
export const fill = (profile: Profile, values: Values, number: number): void => {
  const columns = Object.entries(values.columns).filter(
    ([column, value]) => value !== null && (profile.columns.get(column) ?? null) === null,
  )
  for (const [column, value] of columns) profile.columns.set(column, value)
  const room = Math.max(0, MOST_PROPERTIES - profile.properties.size)
  const missing = Object.keys(values.properties).filter((key) => !profile.properties.has(key))
  const keys = missing.sort().slice(0, room)
  for (const key of keys) profile.properties.set(key, values.properties[key]!)
  if (columns.length > 0 || keys.length > 0) touch(profile, number)
}

/** Merges an anonymous profile, known only by a weak key, into the profile that claims the key. */
export const absorb = (absorber: Profile, anonymous: Profile, number: number): void => {
  const { columns, properties } = anonymous
  fill(absorber, { columns: Object.fromEntries(columns), properties: Object.fromEntries(properties) }, number)
  touch(absorber, number)
  absorber.firstNumber = Math.min(absorber.firstNumber, anonymous.firstNumber)
  anonymous.absorbedBy = absorber
}

export const touch = (profile: Profile, number: number): void => {
  if (profile.number === number) return
  profile.priorNumber = profile.number
  profile.number = number
}

/** The columns of both contacts and accounts. */
export const describe = (profile: Profile) => ({
  name: text(profile, 'name'),
  contract_value: (profile.columns.get('contract_value') ?? null) as number | null,
  source_created_at: instantOf(profile, 'source_created_at'),
  source_updated_at: instantOf(profile, 'source_updated_at'),
  // Defines each member, also `__proto__`.
  properties: Object.fromEntries(profile.properties),
  created_number: profile.firstNumber,
  updated_number: profile.number,
})

export const text = (profile: Profile, column: string): string | null =>
  (profile.columns.get(column) ?? null) as string | null

const instantOf = (profile: Profile, column: string): string | null => {
  const given = text(profile, column)
  return given === null ? null : instant(given)
}
