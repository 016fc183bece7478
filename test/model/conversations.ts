import type { ContactRecord } from '../../contract/contact-record.ts'
import type { ConversationRecord, MessageRecord } from '../../contract/conversation-record.ts'
import type { JobOf } from '../../contract/job.ts'
import type { JsonObject } from '../../contract/json.ts'
import { ownId } from '../../contract/identity/own-id.ts'
import { unflatten } from '../../contract/unflatten.ts'
import { propagate } from '../../worker/rows/propagate.ts'
import { findContact, findOrCreateIdentified, type Contacts } from './contacts.ts'
import type { Profile } from './profile.ts'
import { awaitExternalId, type Link } from './register.ts'

export type Conversation = {
  readonly id: string
  /** As last submitted. */
  record: ConversationRecord
  /** Of all submissions. */
  readonly contacts: Set<Profile>
  /** By their ids in the conversation, each as last submitted. */
  readonly messages: Map<string, Message>
}

type Message = { id: string; record: MessageRecord; rawData: JsonObject; contact: Link }

type Files = { contacts: Contacts; conversations: Map<string, Conversation> }

/** What is submitted replaces what there was; messages and contacts that are missing from it stay. */
export const submitConversation = (
  { contacts, conversations }: Files,
  { body, number }: JobOf<'submit_conversation'>,
  identify: (record: ContactRecord) => Profile,
): void => {
  const id = ownId(contacts.realm, 'conversation', body.source, body.id)
  const conversation = conversations.get(id) ?? { id, record: body, contacts: new Set(), messages: new Map() }
  conversations.set(id, conversation)
  conversation.record = body

  const records = withoutDoubles(sourced(body.contacts), ({ source, id: named }) =>
    JSON.stringify([source ?? null, named]),
  )
  // Keys of one moment come up in the order of their sources.
  for (const record of records.toSorted((a, b) => ((a.source ?? '') < (b.source ?? '') ? -1 : 1))) {
    findOrCreateIdentified(contacts, { record, defaultSource: body.source, number })
  }
  const present = new Map<string, Profile>()
  for (const record of records) {
    const contact = identify(record)
    present.set(record.id, contact)
    conversation.contacts.add(contact)
  }

  const senderOf = ({ contactId }: MessageRecord): Link => {
    if (contactId === undefined) return { profile: null }
    const known = present.get(contactId) ?? findContact(contacts, contactId, body.source)
    return known ? { profile: known } : awaitExternalId(contacts, contactId)
  }

  for (const record of withoutDoubles(body.messages, (message) => message.id)) {
    conversation.messages.set(record.id, {
      id: ownId(contacts.realm, 'message', id, record.id),
      record,
      rawData: rawDataOf(record, body),
      contact: senderOf(record),
    })
  }
}

/** Without a source it is the element of the same id that has one, the last of them. */
const sourced = (records: readonly ContactRecord[]): ContactRecord[] =>
  records.map((record) => {
    const named = records.findLast(({ id, source }) => id === record.id && source != null)
    return record.source == null && named ? { ...record, source: named.source } : record
  })

/** The later one wins as a whole, and takes the later place. */
const withoutDoubles = <T>(elements: readonly T[], keyOf: (element: T) => string): T[] => {
  const kept = new Map<string, T>()
  for (const element of elements) {
    kept.delete(keyOf(element))
    kept.set(keyOf(element), element)
  }
  return [...kept.values()]
}

export const unflattenedProperties = (record: ConversationRecord | MessageRecord): JsonObject =>
  record.shouldUnflattenProperties === true ? unflatten(record.properties) : record.properties

const rawDataOf = (message: MessageRecord, conversation: ConversationRecord): JsonObject =>
  conversation.propagatePropertiesToMessages === true
    ? propagate(unflattenedProperties(conversation), unflattenedProperties(message))
    : unflattenedProperties(message)
