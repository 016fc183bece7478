import * as v from 'valibot'
import { type ContactRecord, contactRecord } from './contact-record.ts'
import { amount, dateTime, flag, freeObject, givenSource, identifier, list, object, text } from './fields.ts'
import type { FreeMember } from './free-members.ts'
import { DEFAULT_SOURCE } from './stored-feedback.ts'
import { MAX_CONVERSATION_CONTACTS, MAX_CONVERSATION_MESSAGES } from './limits.ts'

const PROPERTIES: readonly FreeMember[] = [{ name: 'properties', flag: 'shouldUnflattenProperties' }]

export const messageRecord = object(
  {
    id: identifier,
    incoming: flag,
    contactId: v.optional(identifier),
    content: text,
    createdAt: dateTime,
    shouldUnflattenProperties: v.nullish(flag),
    properties: v.optional(freeObject, {}),
    sourceUrl: v.nullish(text),
  },
  PROPERTIES,
)
export type MessageRecord = v.InferOutput<typeof messageRecord>

/** Body of submit-conversation. */
export const conversationRecord = object(
  {
    id: identifier,
    title: v.nullish(text),
    source: v.pipe(
      givenSource,
      v.transform((given) => given ?? DEFAULT_SOURCE),
    ),
    createdAt: dateTime,
    updatedAt: v.nullish(dateTime),
    contacts: list(contactRecord, MAX_CONVERSATION_CONTACTS, 'contacts'),
    messages: list(messageRecord, MAX_CONVERSATION_MESSAGES, 'messages'),
    rating: v.nullish(amount),
    shouldUnflattenProperties: v.nullish(flag),
    propagatePropertiesToMessages: v.nullish(flag),
    properties: v.optional(freeObject, {}),
  },
  PROPERTIES,
)
export type ConversationRecord = v.InferOutput<typeof conversationRecord>

/**
 * The contacts that a conversation names, each once. The last record of a contact counts and keeps
 * its place, so that its claims are the latest.
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
 * A contact without a source means the contact of the same id that the conversation also names with
 * a source. Otherwise two elements with one acceptance number could mean the same contact, and
 * neither would be the later one.
 */
export const sourcedContacts = ({ contacts }: ConversationRecord): ContactRecord[] => {
  const sources = new Map(contacts.flatMap(({ id, source }) => (source == null ? [] : [[id, source] as const])))
  return contacts.map((contact) => {
    const source = contact.source ?? sources.get(contact.id)
    return source === undefined ? contact : { ...contact, source }
  })
}
