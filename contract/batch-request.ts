import * as v from 'valibot'
import { accountRecord, contactRecord } from './contact-record.ts'
import { conversationRecord } from './conversation-record.ts'
import { feedbackRecord } from './feedback-record.ts'
import { freeObject, list, object, text } from './fields.ts'
import { MAX_BATCH_ITEMS } from './limits.ts'

/** The operations that a batch can hold, with their bodies. */
export const BATCHABLE = {
  create_feedback: feedbackRecord,
  identify_contact: contactRecord,
  identify_account: accountRecord,
  submit_conversation: conversationRecord,
} as const
export type Batchable = keyof typeof BATCHABLE

const NAMES = Object.keys(BATCHABLE) as Batchable[]

/** The form of an idempotency key, in the header and in an item. */
export const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/

/** An item of a batch. `body` is any object here: the schema of the operation checks it later. */
export const batchItem = object({
  operation: v.picklist(NAMES, `one of ${NAMES.join(', ')}`),
  body: freeObject,
  idempotencyKey: v.optional(v.pipe(text, v.regex(IDEMPOTENCY_KEY, '1 to 255 visible ASCII characters'))),
})

/** The body of a batch. The result of an item tells the problems of that item. */
export const batchRequest = object({ items: list(v.unknown(), MAX_BATCH_ITEMS, 'items') })
