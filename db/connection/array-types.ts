import type postgres from 'postgres'

/**
 * The oids of array types (pg_type.typarray), which are the same in every PostgreSQL, and the parser
 * of an element. The service uses one-dimensional arrays only.
 */
const ELEMENTS = {
  text: { oid: 1009, read: (text: string) => text },
  uuid: { oid: 2951, read: (text: string) => text },
  int4: { oid: 1007, read: Number },
  // The driver also returns an int8 as text.
  int8: { oid: 1016, read: (text: string) => text },
} as const

type Element = string | number | null

const QUOTED_OR_BARE = /"([^"\\]*(?:\\.[^"\\]*)*)"|([^,{}"]+)/gs

const arrayType = (oid: number, read: (text: string) => string | number): postgres.PostgresType => ({
  to: oid,
  from: [oid],
  // When the driver repeats a statement, it passes the serialized text.
  serialize: (value: readonly Element[] | string) =>
    typeof value === 'string' ? value : `{${value.map(elementText).join()}}`,
  parse: (literal: string) =>
    Array.from(literal.matchAll(QUOTED_OR_BARE), ([, quoted, bare = '']) => {
      if (quoted !== undefined) return read(quoted.replace(/\\(.)/gs, '$1'))
      return bare === 'NULL' ? null : read(bare)
    }),
})

const elementText = (element: Element): string => {
  if (typeof element === 'number') return String(element)
  return element === null ? 'NULL' : `"${element.replace(/["\\]/g, '\\$&')}"`
}

/**
 * The array types of the service's statements. Without them, the driver asks each new connection
 * for all array types, and handles no failure of this query. On Deno, a connection that died during
 * the query ended the process with an unhandled rejection.
 */
export const ARRAY_TYPES: Readonly<Record<string, postgres.PostgresType>> = Object.fromEntries(
  Object.entries(ELEMENTS).map(([name, { oid, read }]) => [`${name}[]`, arrayType(oid, read)]),
)
