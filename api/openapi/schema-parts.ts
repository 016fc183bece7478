import type { JsonObject } from '../../contract/json.ts'

/** An object all of whose members are required, unless fewer are named. */
export const object = (
  description: string,
  properties: JsonObject,
  required = Object.keys(properties),
): JsonObject => ({
  type: 'object',
  description,
  ...(required.length > 0 && { required }),
  properties,
})
export const text = (description: string, more: JsonObject = {}): JsonObject => ({
  type: 'string',
  description,
  ...more,
})
export const reference = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` })
