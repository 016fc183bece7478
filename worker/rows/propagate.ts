import type { JsonObject } from '../../contract/json.ts'

/**
 * A message's raw data: the properties of its conversation, replaced by its own where both have a key at the top level. Both
 * are unflattened already. Object.assign would take a `__proto__` key for the prototype and lose it; spreading keeps it.
 */
export const propagate = (conversationProperties: JsonObject, messageProperties: JsonObject): JsonObject => ({
  ...conversationProperties,
  ...messageProperties,
})
