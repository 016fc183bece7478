import { isDateTime, isUnset } from '../../../contract/date-time.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../contract/json.ts'

const typeOf = (value: JsonValue): string => {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

type Keyword = (said: JsonValue, value: JsonValue, fits: (schema: JsonValue, value: JsonValue) => boolean) => boolean

const characters = (text: string): number => [...text].length

/**
 * The part of JSON Schema that the document uses. `items` and `properties` do not apply to values
 * of other types.
 */
const KEYWORDS: Readonly<Record<string, Keyword>> = {
  type: (said, value) =>
    [said].flat().some((type) => type === typeOf(value) || (type === 'integer' && Number.isInteger(value))),
  enum: (said, value) => Array.isArray(said) && said.includes(value),
  const: (said, value) => said === value,
  anyOf: (said, value, fits) => Array.isArray(said) && said.some((schema) => fits(schema, value)),
  maxLength: (said, value) => typeof value !== 'string' || characters(value) <= Number(said),
  minLength: (said, value) => typeof value !== 'string' || characters(value) >= Number(said),
  maxItems: (said, value) => !Array.isArray(value) || value.length <= Number(said),
  minItems: (said, value) => !Array.isArray(value) || value.length >= Number(said),
  maxProperties: (said, value) => !isJsonObject(value) || Object.keys(value).length <= Number(said),
  minimum: (said, value) => typeof value !== 'number' || value >= Number(said),
  maximum: (said, value) => typeof value !== 'number' || value <= Number(said),
  pattern: (said, value) => typeof value !== 'string' || new RegExp(said as string, 'u').test(value),
  // Other formats are notes for people.
  format: (said, value) => said !== 'date-time' || typeof value !== 'string' || (isDateTime(value) && !isUnset(value)),
  required: (said, value) => !isJsonObject(value) || (said as string[]).every((name) => Object.hasOwn(value, name)),
  properties: (said, value, fits) =>
    !isJsonObject(value) ||
    Object.entries(said as JsonObject).every(([name, schema]) => {
      const member = value[name]
      return member === undefined || fits(schema, member)
    }),
  items: (said, value, fits) => !Array.isArray(value) || value.every((item) => fits(said, item)),
  additionalProperties: () => true,
  description: () => true,
  default: () => true,
}

/** Whether a value fits a schema of the document. An unknown keyword is an error. */
export const fitsSchema = (resolve: (ref: string) => JsonValue, schema: JsonValue, value: JsonValue): boolean =>
  Object.entries(schema as JsonObject).every(([keyword, said]) => {
    if (keyword === '$ref') return fitsSchema(resolve, resolve(said as string), value)
    const holds = KEYWORDS[keyword]
    if (!holds) throw new Error(`The keyword ${keyword} is unknown here`)
    return holds(said, value, (inner, part) => fitsSchema(resolve, inner, part))
  })
