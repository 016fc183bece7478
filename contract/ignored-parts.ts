import type { BaseMetadata, GenericSchema } from 'valibot'
import { isPlaceholder } from './identity/placeholders.ts'
import { isJsonObject, type JsonObject, type JsonValue } from './json.ts'
import { MAX_REPORTED_PROBLEMS } from './limits.ts'

/**
 * A part of a body that `handling=strict` refuses. `fault` completes a sentence that begins with
 * the path.
 */
export type IgnoredPart = { readonly path: string; readonly fault: string }

/**
 * The parts of a body that `handling=strict` refuses: members that the schema does not name,
 * metadata that looks like a misspelt column, and references that name nothing. Stops when it has at
 * least as many parts as a response reports. A free object has no unknown members. The body reader
 * has bounded the depth of this recursion.
 */
export const findIgnoredParts = (schema: GenericSchema, body: JsonValue): IgnoredPart[] => {
  const found: IgnoredPart[] = []
  find(schema, { value: body, path: [] }, found)
  return found
}

const UNKNOWN = 'is not a known member, and handling=strict refuses unknown ones'

type ValuePlace = { value: JsonValue | undefined; path: readonly (string | number)[] }

const find = (schema: GenericSchema, { value, path }: ValuePlace, found: IgnoredPart[]): void => {
  const { entries, item, columns, named } = known(schema)
  if (item && Array.isArray(value)) {
    for (let index = 0; index < value.length && found.length < MAX_REPORTED_PROBLEMS; index++) {
      find(item, { value: value[index], path: [...path, index] }, found)
    }
  }
  if (!isJsonObject(value)) return
  const before = found.length
  if (columns) found.push(...misspeltColumns(columns, value, path))
  for (const name of entries ? Object.keys(value) : []) {
    if (found.length >= MAX_REPORTED_PROBLEMS) return
    const entry = Object.hasOwn(entries!, name) ? entries![name] : undefined
    if (entry) find(entry, { value: value[name], path: [...path, name] }, found)
    else found.push({ path: [...path, name].join('.'), fault: UNKNOWN })
  }
  // Not beside an unknown member of the reference: that may be its misspelt name.
  if (named && found.length === before && !named.some((name) => isNaming(value[name]))) {
    const fault = `names nothing and would not be stored: it needs one of ${named.join(', ')}`
    found.push({ path: path.join('.'), fault })
  }
}

const isNaming = (value: JsonValue | undefined): boolean => typeof value === 'string' && !isPlaceholder(value)

/** `$Email` instead of `$email`, and `email` without its `$`. */
const misspeltColumns = (columns: readonly string[], value: JsonObject, path: ValuePlace['path']): IgnoredPart[] =>
  Object.keys(value).flatMap((name) => {
    const lower = name.toLowerCase()
    const meant = columns.find((column) => column.toLowerCase() === (lower === 'email' ? '$email' : lower))
    if (meant === undefined || meant === name) return []
    return [{ path: [...path, name].join('.'), fault: `would be stored as metadata: ${meant} is the known name` }]
  })

/**
 * The parts that a schema knows: `entries` of an object, the `item` of a list, the `columns`
 * of an open object, and the members by which a reference can be `named`.
 */
type Known = {
  entries?: Readonly<Record<string, GenericSchema>>
  item?: GenericSchema
  columns?: readonly string[]
  named?: readonly string[]
}

/** The parts of a Valibot schema that `known` reads. */
type SchemaPart = BaseMetadata<unknown> & {
  entries?: Known['entries']
  wrapped?: GenericSchema
  pipe?: readonly SchemaPart[]
  metadata?: { array?: { item: GenericSchema }; known?: { entries: object }; named?: readonly string[] }
}

const known = (schema: GenericSchema | SchemaPart): Known => {
  const { entries, wrapped, pipe, metadata } = schema as SchemaPart
  if (wrapped) return known(wrapped)
  if (pipe) return Object.assign({}, ...pipe.map(known)) as Known
  return {
    ...(entries && { entries }),
    ...(metadata?.array && { item: metadata.array.item }),
    ...(metadata?.known && { columns: Object.keys(metadata.known.entries) }),
    ...(metadata?.named && { named: metadata.named }),
  }
}
