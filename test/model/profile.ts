import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { instant } from './tables.ts'

/** So many metadata keys are kept: those that were said last. */
const MOST_PROPERTIES = 1_000

/** A value and who said it: an identify, or a find-or-create reference of a feedback. */
type Said = { value: JsonValue; number: number; by: 'identify' | 'reference' }

/** What the clerk has on one contact or account. */
export type Profile = {
  readonly id: string
  readonly columns: Map<string, Said>
  readonly properties: Map<string, Said>
  /** Of the first submission that said anything about it. */
  firstNumber: number
  /** Of the last identify; 0 before there is one. */
  identifiedNumber: number
  /** Of a contact. */
  account: Profile | null
  /** Whose file this one was put into. */
  absorbedBy: Profile | null
}

/** The values of one identify or reference, sorted into those that have a column and the others. */
export type Values = { columns: Readonly<Record<string, JsonValue>>; properties: JsonObject }

export const openProfile = (id: string, number: number): Profile => ({
  id,
  columns: new Map(),
  properties: new Map(),
  firstNumber: number,
  identifiedNumber: 0,
  account: null,
  absorbedBy: null,
})

/** Who it is by now. */
export const current = (profile: Profile): Profile => (profile.absorbedBy ? current(profile.absorbedBy) : profile)

/** Later identifies replace what was said before, key by key, also with null. */
export const identify = (profile: Profile, values: Values, number: number): void => {
  for (const [key, value] of Object.entries(values.columns)) {
    profile.columns.set(key, { value, number, by: 'identify' })
  }
  for (const [key, value] of Object.entries(values.properties)) {
    profile.properties.set(key, { value, number, by: 'identify' })
  }
  profile.firstNumber = Math.min(profile.firstNumber, number)
  profile.identifiedNumber = Math.max(profile.identifiedNumber, number)
}

/** References fill what no identify has ever set; among themselves the first stays. */
export const fill = (profile: Profile, values: Values, number: number): void => {
  for (const [key, value] of Object.entries(values.columns)) {
    fillOne(profile.columns, key, { value, number, by: 'reference' })
  }
  for (const [key, value] of Object.entries(values.properties)) {
    fillOne(profile.properties, key, { value, number, by: 'reference' })
  }
  profile.firstNumber = Math.min(profile.firstNumber, number)
}

/** Puts the file of somebody who had only a weak key into that of whom the key turned out to mean. */
export const absorb = (absorber: Profile, anonymous: Profile): void => {
  for (const [key, said] of anonymous.columns) fillOne(absorber.columns, key, said)
  for (const [key, said] of anonymous.properties) fillOne(absorber.properties, key, said)
  absorber.firstNumber = Math.min(absorber.firstNumber, anonymous.firstNumber)
  anonymous.absorbedBy = absorber
}

const fillOne = (held: Map<string, Said>, key: string, said: Said): void => {
  const earlier = held.get(key)
  if (!earlier || (earlier.by === 'reference' && said.number < earlier.number)) held.set(key, said)
}

/**
 * Of what identifies said the latest, and then of what references gave the earliest; of what one submission said the first by name.
 * The names of the tests have no characters in which the order of code units would differ from that of Postgres.
 */
const propertiesKept = ({ properties }: Profile): [string, Said][] => {
  if (properties.size <= MOST_PROPERTIES) return [...properties]
  const rank = ({ by, number }: Said): number => (by === 'identify' ? number : -number)
  return [...properties]
    .sort(([key, said], [otherKey, other]) => rank(other) - rank(said) || (key < otherKey ? -1 : 1))
    .slice(0, MOST_PROPERTIES)
}

/** The columns that contacts and accounts have in common. */
export const describe = (profile: Profile) => ({
  name: text(profile, 'name'),
  contract_value: (profile.columns.get('contract_value')?.value ?? null) as number | null,
  source_created_at: instantOf(profile, 'source_created_at'),
  source_updated_at: instantOf(profile, 'source_updated_at'),
  // Defines each member, also `__proto__`.
  properties: Object.fromEntries(propertiesKept(profile).map(([key, { value }]) => [key, value])),
  created_number: profile.firstNumber,
  updated_number: updatedNumber(profile),
})

export const text = (profile: Profile, column: string): string | null =>
  (profile.columns.get(column)?.value ?? null) as string | null

const instantOf = (profile: Profile, column: string): string | null => {
  const given = text(profile, column)
  return given === null ? null : instant(given)
}

/** The last identify, even if it changed nothing, or the last reference of which something still stands. */
const updatedNumber = (profile: Profile): number => {
  const standing = [...profile.columns.values(), ...propertiesKept(profile).map(([, said]) => said)]
  return Math.max(profile.identifiedNumber, ...standing.map(({ number }) => number))
}
