import type { JsonObject, JsonValue } from '../../db/contract/json.ts'
import { containerAt, type Field, type Known, LEAST } from './interface-table.ts'

/** A body that is good but for one field: that has `value`, or is missing when `value` is undefined. */
export const bodyWith = (field: Field, value: JsonValue | undefined, { unique }: Known): JsonObject => {
  const body = LEAST[field.operation](unique)
  for (const [path, other] of Object.entries(field.with ?? {})) put(body, { ...field, path }, other, unique)
  put(body, field, value, unique)
  return body
}

type Place = Pick<Field, 'operation' | 'path'>

const put = (body: JsonObject, { operation, path }: Place, value: JsonValue | undefined, unique: string): void => {
  const names = path.split('.')
  const last = names.pop()!
  // Arrays and objects alike, by index or name.
  let at: JsonObject = body
  names.forEach((name, depth) => {
    at[name] ??= containerAt({ operation, path: names.slice(0, depth + 1).join('.') }, unique)
    if (Array.isArray(at[name]) && at[name].length === 0 && names.length > depth + 1) {
      at[name].push(containerAt({ operation, path: names.slice(0, depth + 2).join('.') }, unique))
    }
    at = at[name] as JsonObject
  })
  if (value === undefined) delete at[last]
  else at[last] = value
}
