import type { ConversationRecord, MessageRecord } from '../../contract/conversation-record.ts'
import type { JsonObject } from '../../contract/json.ts'
import { unflattenIf } from '../../contract/unflatten.ts'

/**
 * The raw data of a message: its own properties over those of its conversation, if the conversation
 * propagates them. Both are unflattened first. It spreads, since `Object.assign` would take a key
 * `__proto__` for the prototype and lose it.
 */
export const rawDataOf = (
  message: MessageRecord,
  conversation: ConversationRecord,
  conversationProperties: JsonObject,
): JsonObject => {
  const own = unflattenIf(message.shouldUnflattenProperties, message.properties)
  return conversation.propagatePropertiesToMessages === true ? { ...conversationProperties, ...own } : own
}
