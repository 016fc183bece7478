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

const propagatedBytes = (body: ConversationRecord): number =>
  propagatedSizeBytes({
    conversationBytes: jsonBytes(body),
    propertiesBytes: jsonBytes(unflattenIf(body.shouldUnflattenProperties, body.properties)),
    messageCount: body.messages.length,
  })

type Propagation = {
  /** The conversation as it is queued: UTF-8 bytes of its JSON. */
  readonly conversationBytes: number
  /**
   * The conversation's properties after unflattening, which lengthens them: UTF-8 bytes of their
   * JSON.
   */
  readonly propertiesBytes: number
  readonly messageCount: number
}

/**
 * An upper bound of the bytes of JSON that a conversation has once each message has its properties.
 *
 * The bound does not depend on the content of messages. A merge adds at most the properties to a
 * message, and less where the message has a key itself. The comma between two objects takes the
 * place of a pair of braces.
 */
export const propagatedSizeBytes = ({ conversationBytes, propertiesBytes, messageCount }: Propagation): number =>
  conversationBytes + propertiesBytes * messageCount

const jsonBytes = (value: object): number => Buffer.byteLength(JSON.stringify(value))
