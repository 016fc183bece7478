import * as v from 'valibot'
import { contactRecord } from './contact-record.ts'
import { dateTime, flag, freeObject, identifier, number, object, shortText, text } from './fields.ts'
import { MAX_CONVERSATION_CONTACTS, MAX_CONVERSATION_MESSAGES } from './limits.ts'

const messageRecord = object({
  id: identifier,
  incoming: flag,
  contactId: v.optional(identifier),
  content: text,
  createdAt: dateTime,
  shouldUnflattenProperties: v.nullish(flag),
  properties: v.optional(freeObject, {}),
  sourceUrl: v.nullish(text),
})
export type MessageRecord = v.InferOutput<typeof messageRecord>

/** Body of submit-conversation. */
export const conversationRecord = object({
  id: identifier,
  title: v.nullish(text),
  source: shortText,
  createdAt: dateTime,
  updatedAt: v.nullish(dateTime),
  contacts: v.pipe(
    v.array(contactRecord, 'an array'),
    v.maxLength(MAX_CONVERSATION_CONTACTS, `an array of at most ${MAX_CONVERSATION_CONTACTS} contacts`),
  ),
  messages: v.pipe(
    v.array(messageRecord, 'an array'),
    v.maxLength(MAX_CONVERSATION_MESSAGES, `an array of at most ${MAX_CONVERSATION_MESSAGES} messages`),
  ),
  rating: v.nullish(number),
  shouldUnflattenProperties: v.nullish(flag),
  propagatePropertiesToMessages: v.nullish(flag),
  properties: v.optional(freeObject, {}),
})
export type ConversationRecord = v.InferOutput<typeof conversationRecord>
