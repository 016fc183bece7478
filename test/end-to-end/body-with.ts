import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { emailOf, type Field, MESSAGE, type OperationPath } from './interface-table.ts'

/** The smallest body of every operation. */
export const LEAST: Readonly<Record<OperationPath, (unique: string) => JsonObject>> = {
  '/feedbacks': () => ({ description: 'The export is slow' }),
  '/contacts/identify': (id) => ({ id }),
  '/accounts/identify': (id) => ({ id }),
  '/contacts/purge': (id) => ({ id, email: emailOf(id) }),
  '/conversations': (id) => ({ id, source: 'Intercom', createdAt: '2026-01-01T00:00:00Z', contacts: [], messages: [] }),
}

/** A valid body with `value` in one field, or without the field if `value` is undefined. */
export const bodyWith = (field: Field, value: JsonValue | undefined, unique: string): JsonObject => {
  const { operation, path } = field
  const body = LEAST[operation](unique)
  const members = [...Object.entries(field.more.with ?? {}), [path, value] as const]
  for (const [member, its] of members) {
    const names = member.split('.')
    const last = names.pop()!
    const parent = parentOf(body, names, (container) => containerAt(operation, container, unique))
    if (its === undefined) delete parent[last]
    else parent[last] = its
  }
  return body
}

/**
 * The object at the path; makes missing objects on the way. Arrays are walked like objects, by
 * index.
 */
const parentOf = (
  body: JsonObject,
  names: readonly string[],
  make: (container: string) => JsonObject | JsonValue[],
): JsonObject =>
  names.reduce((at, name, depth) => {
    at[name] ??= make(names.slice(0, depth + 1).join('.'))
    return at[name] as JsonObject
  }, body)

/** The smallest value of a member that is an object. */
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
