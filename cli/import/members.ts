import { isObject } from '../../runtime/exact-json.ts'

export type BodyMembers = { readonly [member: string]: unknown }

export type FieldValue = { readonly path: readonly string[]; readonly value: unknown }

/** Null in JSON is no value. */
export const hasValue = (value: unknown): boolean => value !== undefined && value !== null

export const memberAt = (object: BodyMembers, path: readonly string[]): unknown =>
  path.reduce<unknown>((value, member) => {
    const isInner = typeof value === 'object' && value !== null && Object.hasOwn(value, member)
    return isInner ? (value as BodyMembers)[member] : undefined
  }, object)

/**
 * Nests members by their paths. Of two entries with the same path, the later one counts. An entry
 * for a member of an object replaces only this member, at any depth. A malformed object stays, so
 * that the service refuses the record. No name is special, not even `__proto__`.
 */
export const nest = (entries: readonly FieldValue[]): BodyMembers => {
  const groups = Map.groupBy(entries, ({ path }) => path[0] ?? '')
  return Object.fromEntries(
    [...groups].map(([member, group]) => {
      const inner = group.filter(({ path }) => path.length > 1)
      const whole = group.findLast(({ path }) => path.length === 1)?.value
      if (inner.length === 0 || (hasValue(whole) && !isObject(whole))) return [member, whole]
      return [
        member,
        nest([
          ...entriesOf(isObject(whole) ? whole : {}),
          ...inner.map(({ path, value }) => ({ path: path.slice(1), value })),
        ]),
      ]
    }),
  )
}

/** The members of an object as entries for `nest`. */
export const entriesOf = (object: BodyMembers): FieldValue[] =>
  Object.entries(object).map(([name, value]) => ({ path: [name], value }))

/** The object without a member, and without an object that this leaves empty. */
export const withoutMember = (object: BodyMembers, [name = '', ...inner]: readonly string[]): BodyMembers => {
  const { [name]: member, ...others } = object
  if (inner.length === 0 || !isObject(member)) return others
  const rest = withoutMember(member, inner)
  return Object.keys(rest).length === 0 ? others : nest([...entriesOf(object), { path: [name], value: rest }])
}
