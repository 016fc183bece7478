import type * as v from 'valibot'
import { isJsonObject, setMember } from './json.ts'

/** The members of schemas of Valibot that say what they contain. */
type Shape = v.GenericSchema & { wrapped?: Shape; item?: Shape; entries?: Readonly<Record<string, Shape>> }

const NUMBER = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*$/

/**
 * A value in the form that the schema expects, where a caller wrote it in another form: "3" for 3,
 * "x" for ["x"], null for an absent member, and JSON text for an object or an array.
 */
export const asExpected = (schema: v.GenericSchema, given: unknown): unknown => {
  const { type, wrapped, item, entries = {} } = schema as Shape
  switch (type) {
    case 'optional':
      return given === null ? undefined : asExpected(wrapped!, given)
    case 'number':
      return typeof given === 'string' && NUMBER.test(given) ? Number(given) : given
    case 'boolean':
      return given === 'true' ? true : given === 'false' ? false : given
    case 'string':
      return typeof given === 'number' ? String(given) : given
    case 'array': {
      const list = parsed(given, '[')
      return Array.isArray(list)
        ? list.map((each) => asExpected(item!, each))
        : given == null
          ? given
          : [asExpected(item!, given)]
    }
    case 'strict_object': {
      const object = parsed(given, '{')
      if (!isJsonObject(object)) return given
      const made = {}
      for (const [name, value] of Object.entries(object)) {
        const member = Object.hasOwn(entries, name) ? asExpected(entries[name]!, value) : value
        if (member !== undefined && member !== null) setMember(made, name, member as never)
      }
      return made
    }
    default:
      return given
  }
}

/** The value of a text of JSON that begins with this character; else the value itself. */
const parsed = (given: unknown, opening: string): unknown => {
  if (typeof given !== 'string' || !given.trimStart().startsWith(opening)) return given
  try {
    return JSON.parse(given)
  } catch {
    return given
  }
}
