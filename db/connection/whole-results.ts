import type { Sql } from 'postgres'

type Query = { resolve: (result: unknown) => void }

/**
 * Removes the holes at the beginning of results. The driver (3.4.9) counts the rows of a
 * connection. When the connection dies between two rows, the driver does not reset the count. The
 * next result then begins with a hole for each counted row.
 */
export const withWholeResults = (sql: Sql): Sql =>
  new Proxy(sql, {
    apply: (call, self, args) => withoutHoles<unknown>(Reflect.apply(call, self, args)),
    get: (target, name, receiver) =>
      name === 'unsafe'
        ? (...args: Parameters<Sql['unsafe']>) => withoutHoles(target.unsafe(...args))
        : (Reflect.get(target, name, receiver) as unknown),
  })

/** A query passes its result to `resolve`. Identifiers and lists have no `resolve`. */
const withoutHoles = <Q>(query: Q): Q => {
  if (!isQuery(query)) return query
  const { resolve } = query
  query.resolve = (result) => {
    if (Array.isArray(result) && result.length > 0 && !(0 in result)) {
      const first = result.findIndex((_, at) => at in result)
      result.splice(0, first < 0 ? result.length : first)
    }
    resolve(result)
  }
  return query
}

const isQuery = (value: unknown): value is Query =>
  typeof value === 'object' && value !== null && 'resolve' in value && typeof value.resolve === 'function'
