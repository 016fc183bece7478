import * as v from 'valibot'
import { accountRecord, contactRecord } from './contact-record.ts'
import { conversationRecord } from './conversation-record.ts'
import { feedbackRecord } from './feedback-record.ts'
import { freeObject, list, object, text } from './fields.ts'
import { MAX_BATCH_ITEMS } from './limits.ts'

/** The operations that a batch can hold, with their bodies; a purge is none. */
export const BATCHABLE = {
  create_feedback: feedbackRecord,
  identify_contact: contactRecord,
  identify_account: accountRecord,
  submit_conversation: conversationRecord,
} as const
export type Batchable = keyof typeof BATCHABLE

const OPERATIONS = Object.keys(BATCHABLE) as Batchable[]

/** Of the header, and of an item. */
export const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/

/** What is around the body of an item, which is checked as its operation checks it. */
export const batchItem = object({
  operation: v.picklist(OPERATIONS, `one of ${OPERATIONS.join(', ')}`),
  body: freeObject,
  idempotencyKey: v.optional(v.pipe(text, v.regex(IDEMPOTENCY_KEY, '1 to 255 visible ASCII characters'))),
})

/** The body of a batch; what is wrong with an item is told with its own result. */
export const batchRequest = object({ items: list(v.unknown(), MAX_BATCH_ITEMS, 'items') })

type ItemOf<O extends Batchable> = O extends Batchable
  ? { operation: O; body: v.InferInput<(typeof BATCHABLE)[O]>; idempotencyKey?: string }
  : never
/** A batch as clients write it. */
export type BatchRequest = { items: ItemOf<Batchable>[] }
