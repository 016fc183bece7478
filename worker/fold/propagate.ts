import type { ConversationRecord, MessageRecord } from '../../contract/conversation-record.ts'
import type { JsonObject } from '../../contract/json.ts'
import { unflattenIf } from '../../contract/unflatten.ts'

/**
 * A message's raw data: its own properties, and those of its conversation if it propagates them;
 * its own win. Both are unflattened first. `Object.assign` would take a key `__proto__` for the
 * prototype and lose it; spreading keeps it.
 */
export const rawDataOf = (
  message: MessageRecord,
  conversation: ConversationRecord,
  conversationProperties: JsonObject,
): JsonObject => {
  const own = unflattenIf(message.shouldUnflattenProperties, message.properties)
  return conversation.propagatePropertiesToMessages === true ? { ...conversationProperties, ...own } : own
}
