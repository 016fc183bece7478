import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { emailOf, type Field, MESSAGE, type OperationPath } from './interface-table.ts'

/** A short valid body of every operation. */
export const SHORT_BODY: Readonly<Record<OperationPath, (unique: string) => JsonObject>> = {
  '/feedbacks': () => ({ description: 'The export is slow' }),
  '/contacts/identify': (id) => ({ id }),
  '/accounts/identify': (id) => ({ id }),
  '/contacts/purge': (id) => ({ id, email: emailOf(id) }),
  '/conversations': (id) => ({ id, source: 'Intercom', createdAt: '2026-01-01T00:00:00Z', contacts: [], messages: [] }),
}

/**
 * A body with `value` in one field, or without the field if `value` is undefined. The rest of the
 * body is valid.
 */
export const bodyWith = (field: Field, value: JsonValue | undefined, unique: string): JsonObject => {
  const { operation, path } = field
  const body = SHORT_BODY[operation](unique)
  const members = [...Object.entries(field.more.with ?? {}), [path, value] as const]
  for (const [member, wanted] of members) {
    const names = member.split('.')
    const last = names.pop()!
    const parent = parentOf(body, names, (container) => containerAt(operation, container, unique))
    if (wanted === undefined) delete parent[last]
    else parent[last] = wanted
  }
  return body
}

/** The object or array at a path. Adds the missing objects and arrays on the way. */
const parentOf = (
  body: JsonObject,
  names: readonly string[],
  make: (container: string) => JsonObject | JsonValue[],
): JsonObject =>
  names.reduce((at, name, depth) => {
    at[name] ??= make(names.slice(0, depth + 1).join('.'))
    return at[name] as JsonObject
  }, body)

/** A short valid object or array for a path. */
const containerAt = (operation: OperationPath, path: string, unique: string): JsonObject | JsonValue[] => {
  if (path === 'tags') return []
  if (operation === '/feedbacks') {
    return { contact: { email: emailOf(unique) }, account: { name: unique }, project: {} }[path] ?? {}
  }
  if (path.endsWith('account.properties') || (operation === '/accounts/identify' && path === 'properties')) {
    return { $name: `Name of ${unique}`, $domain: `${unique}.example` }
  }
  if (path.endsWith('properties')) return {}
  return path === 'messages.0' ? { ...MESSAGE, id: unique } : { id: unique }
}
