import { type ConversationRecord, conversationRecord } from '../../contract/conversation-record.ts'
import { MAX_PROPAGATED_BYTES } from '../../contract/limits.ts'
import { unflattenIf } from '../../contract/unflatten.ts'
import type { SubmissionKind } from '../submit/intake.ts'
import { propagatedSizeBytes } from './propagation-size.ts'

/** POST /conversations */
export const submitConversation: SubmissionKind<'submit_conversation'> = {
  operation: 'submit_conversation',
  needs: 'submit',
  schema: conversationRecord,
  checkBody: (body) =>
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

const jsonBytes = (value: object): number => Buffer.byteLength(JSON.stringify(value))
