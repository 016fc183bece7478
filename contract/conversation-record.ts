import * as v from 'valibot'
import { type ContactRecord, contactRecord } from './contact-record.ts'
import {
  about,
  amount,
  dateTime,
  flag,
  freeObject,
  sourceOrNull,
  identifier,
  list,
  object,
  SOURCE_TIME,
  text,
  unflattenFlag,
} from './fields.ts'
import type { FreeMember } from './free-members.ts'
import { DEFAULT_SOURCE } from './feedback-record.ts'
import { ownId, type Realm } from './identity/keys.ts'
import { MAX_CONVERSATION_CONTACTS, MAX_CONVERSATION_MESSAGES } from './limits.ts'

const PROPERTIES: readonly FreeMember[] = [{ name: 'properties', flag: 'shouldUnflattenProperties' }]

export const messageRecord = object(
  {
    id: about(identifier, 'Id of the message, unique in its conversation. The same id again replaces the message.'),
    incoming: about(flag, 'True when a customer or another outsider wrote it, false when your team did.'),
    contactId: about(
      v.optional(identifier),
      'The external id of the contact who sent it. Looked up first in `contacts`, then in the source of the conversation, ' +
        'then in all sources. The contact need not exist yet.',
    ),
    content: about(text, 'Text of the message. May be empty.'),
    createdAt: about(dateTime, `When it was sent ${SOURCE_TIME}`),
    shouldUnflattenProperties: unflattenFlag('properties'),
    properties: about(v.optional(freeObject, {}), 'Any further data about the message.'),
    sourceUrl: about(v.nullish(text), 'Address of the original message.'),
  },
  { description: 'One message, or one turn of a spoken conversation.', free: PROPERTIES },
)
export type MessageRecord = v.InferOutput<typeof messageRecord>

const storedSource = v.pipe(
  sourceOrNull,
  v.transform((given) => given ?? DEFAULT_SOURCE),
)

/** Body of submit-conversation. */
export const conversationRecord = object(
  {
    id: about(
      identifier,
      'The id that the source gave the conversation. The same source and id again replace the conversation, unless a ' +
        'newer `updatedAt` was sent before. Messages and contacts that are not sent again stay.',
    ),
    title: about(v.nullish(text), 'A heading for the conversation.'),
    source: about(storedSource, 'The system that the conversation comes from. If blank, `API`.'),
    createdAt: about(dateTime, `When the conversation began ${SOURCE_TIME}`),
    updatedAt: about(
      v.nullish(dateTime),
      `When the conversation last changed ${SOURCE_TIME} If a newer time was sent before, the conversation is not replaced.`,
    ),
    contacts: about(
      list(contactRecord, MAX_CONVERSATION_CONTACTS, 'contacts'),
      'Contacts who took part. Each is identified as if by a call of its own. May be empty.',
    ),
    messages: about(list(messageRecord, MAX_CONVERSATION_MESSAGES, 'messages'), 'The messages. May be empty.'),
    rating: about(v.nullish(amount), 'A score of the conversation, commonly a whole number. Fractions are accepted.'),
    shouldUnflattenProperties: unflattenFlag('properties'),
    propagatePropertiesToMessages: about(
      v.nullish(flag),
      'When true, `properties` are also stored with every message. A key that the message has itself keeps its value. ' +
        'Absent or null means false.',
    ),
    properties: about(v.optional(freeObject, {}), 'Any further data about the conversation.'),
  },
  { description: 'A call, an email thread or a chat: its contacts and its messages.', free: PROPERTIES },
)
export type ConversationRecord = v.InferOutput<typeof conversationRecord>

/** The id of a conversation. Submissions with the same source and id share one. */
export const conversationId = (realm: Realm, { source, id }: ConversationRecord): string =>
  ownId(realm, 'conversation', source, id)

/**
 * The last record of each contact that a conversation names. The records keep their order, since
 * the last claim of an email wins.
 */
export const namedContacts = (conversation: ConversationRecord): ContactRecord[] =>
  lastOfEach(sourcedContacts(conversation), ({ source, id }) => JSON.stringify([source ?? null, id]))

/** Keeps only the last of several items with the same key, in its place. */
export const lastOfEach = <T>(items: readonly T[], keyOf: (item: T) => string): T[] => {
  const last = new Map<string, T>()
  for (const item of items) {
    const key = keyOf(item)
    last.delete(key)
    last.set(key, item)
  }
  return [...last.values()]
}

/**
 * The contacts of a conversation. A record without a source takes the source of another record with
 * the same id. Otherwise both records could mean one contact, under one acceptance number, and
 * neither would be the later one.
 */
export const sourcedContacts = ({ contacts }: ConversationRecord): ContactRecord[] => {
  const sources = new Map(contacts.flatMap(({ id, source }) => (source == null ? [] : [[id, source] as const])))
  return contacts.map((contact) => {
    const source = contact.source ?? sources.get(contact.id)
    return source === undefined ? contact : { ...contact, source }
  })
}
