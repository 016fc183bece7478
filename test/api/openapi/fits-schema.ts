import { isDateTime, isUnset } from '../../../contract/date-time.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../contract/json.ts'

const typeOf = (value: JsonValue): string => {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

type Keyword = (
  expected: JsonValue,
  value: JsonValue,
  fits: (schema: JsonValue, value: JsonValue) => boolean,
) => boolean

const characters = (text: string): number => [...text].length

/**
 * The part of JSON Schema that the document uses. `items` and `properties` do not apply to values
 * of other types.
 */
const KEYWORDS: Readonly<Record<string, Keyword>> = {
  type: (expected, value) =>
    [expected].flat().some((type) => type === typeOf(value) || (type === 'integer' && Number.isInteger(value))),
  enum: (expected, value) => Array.isArray(expected) && expected.includes(value),
  const: (expected, value) => expected === value,
  anyOf: (expected, value, fits) => Array.isArray(expected) && expected.some((schema) => fits(schema, value)),
  maxLength: (expected, value) => typeof value !== 'string' || characters(value) <= Number(expected),
  minLength: (expected, value) => typeof value !== 'string' || characters(value) >= Number(expected),
  maxItems: (expected, value) => !Array.isArray(value) || value.length <= Number(expected),
  minItems: (expected, value) => !Array.isArray(value) || value.length >= Number(expected),
  maxProperties: (expected, value) => !isJsonObject(value) || Object.keys(value).length <= Number(expected),
  minimum: (expected, value) => typeof value !== 'number' || value >= Number(expected),
  maximum: (expected, value) => typeof value !== 'number' || value <= Number(expected),
  pattern: (expected, value) => typeof value !== 'string' || new RegExp(expected as string, 'u').test(value),
  // Other formats are notes for people.
  format: (expected, value) =>
    expected !== 'date-time' || typeof value !== 'string' || (isDateTime(value) && !isUnset(value)),
  required: (expected, value) =>
    !isJsonObject(value) || (expected as string[]).every((name) => Object.hasOwn(value, name)),
  properties: (expected, value, fits) =>
    !isJsonObject(value) ||
    Object.entries(expected as JsonObject).every(([name, schema]) => {
      const member = value[name]
      return member === undefined || fits(schema, member)
    }),
  items: (expected, value, fits) => !Array.isArray(value) || value.every((item) => fits(expected, item)),
  additionalProperties: () => true,
  description: () => true,
  default: () => true,
}

/** Whether a value fits a schema of the document. An unknown keyword is an error. */
export const fitsSchema = (resolve: (ref: string) => JsonValue, schema: JsonValue, value: JsonValue): boolean =>
  Object.entries(schema as JsonObject).every(([keyword, expected]) => {
    if (keyword === '$ref') return fitsSchema(resolve, resolve(expected as string), value)
    const holds = KEYWORDS[keyword]
    if (!holds) throw new Error(`The keyword ${keyword} is unknown here`)
    return holds(expected, value, (inner, part) => fitsSchema(resolve, inner, part))
  })
