import { Buffer } from 'node:buffer'
import { type ConversationRecord, conversationRecord } from '../../contract/conversation-record.ts'
import { MAX_PROPAGATED_BYTES } from '../../contract/limits.ts'
import { unflattenIf } from '../../contract/unflatten.ts'
import type { SubmissionKind } from '../submit/intake.ts'

/** POST /conversations */
export const submitConversation: SubmissionKind<'submit_conversation'> = {
  operation: 'submit_conversation',
  needs: 'submit',
  schema: conversationRecord,
  refuseBody: (body) =>
    body.propagatePropertiesToMessages === true && propagatedBytes(body) > MAX_PROPAGATED_BYTES
      ? { refused: 'too-large-propagated', maxBytes: MAX_PROPAGATED_BYTES }
      : undefined,
  answer: () => ({ status: 200, body: { success: true } }),
}

/**
 * An upper bound of the bytes of JSON of a conversation whose properties are propagated.
 *
 * Like the worker, unflattens all properties first, which can lengthen the JSON. Each message gets
 * at most the properties of the conversation, and fewer if it has some of the keys itself. Merging
 * two objects saves a pair of braces and adds at most a comma.
 */
export const propagatedBytes = (body: ConversationRecord): number => {
  const properties = unflattenIf(body.shouldUnflattenProperties, body.properties)
  const messages = body.messages.map((message) => ({
    ...message,
    properties: unflattenIf(message.shouldUnflattenProperties, message.properties),
  }))
  return jsonBytes({ ...body, properties, messages }) + jsonBytes(properties) * messages.length
}

const jsonBytes = (value: object): number => Buffer.byteLength(JSON.stringify(value))
