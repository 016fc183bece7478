import type { JsonObject } from '../../contract/json.ts'

/**
 * A message's raw data: the properties of its conversation under its own, key by key at the top level. Both come unflattened
 * already. Spread rather than Object.assign, which would take a `__proto__` key for the prototype and lose it.
 */
export const propagate = (conversationProperties: JsonObject, messageProperties: JsonObject): JsonObject => {
  return { ...conversationProperties, ...messageProperties }
}
