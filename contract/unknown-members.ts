import type { BaseMetadata, GenericSchema } from 'valibot'
import { isJsonObject, type JsonValue } from './json.ts'
import { MAX_REPORTED_PROBLEMS } from './limits.ts'

/**
 * The paths of members that a schema of a body does not name and therefore ignores, no more of them
 * than are told. Free objects take any member. The function is recursive: the body reader has
 * bounded the depth.
 */
export const unknownMembers = (schema: GenericSchema, body: JsonValue): string[] => {
  const found: string[] = []
  find(schema, { value: body, path: [] }, found)
  return found
}

type Place = { value: JsonValue | undefined; path: readonly (string | number)[] }

const find = (schema: GenericSchema, { value, path }: Place, found: string[]): void => {
  const { entries, item } = known(schema)
  if (item && Array.isArray(value)) {
    for (let index = 0; index < value.length && found.length < MAX_REPORTED_PROBLEMS; index++) {
      find(item, { value: value[index], path: [...path, index] }, found)
    }
  }
  if (!entries || !isJsonObject(value)) return
  for (const name of Object.keys(value)) {
    if (found.length >= MAX_REPORTED_PROBLEMS) return
    const entry = Object.hasOwn(entries, name) ? entries[name] : undefined
    if (entry) find(entry, { value: value[name], path: [...path, name] }, found)
    else found.push([...path, name].join('.'))
  }
}

/** What a schema knows of what is inside: `entries` of an object, the `item` of a list. */
type Known = { entries?: Readonly<Record<string, GenericSchema>>; item?: GenericSchema }

/** What the kinds of field (fields.ts) are made of. */
type Part = BaseMetadata<unknown> & {
  entries?: Known['entries']
  wrapped?: GenericSchema
  pipe?: readonly Part[]
  metadata?: { array?: { item: GenericSchema } }
}

const known = (schema: GenericSchema | Part): Known => {
  const { entries, wrapped, pipe, metadata } = schema as Part
  if (wrapped) return known(wrapped)
  if (pipe) return Object.assign({}, ...pipe.map(known)) as Known
  return { ...(entries && { entries }), ...(metadata?.array && { item: metadata.array.item }) }
}
