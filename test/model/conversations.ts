import type { ContactRecord } from '../../contract/contact-record.ts'
import type { ConversationRecord, MessageRecord } from '../../contract/conversation-record.ts'
import type { SubmissionOf } from '../../contract/submission.ts'
import type { JsonObject } from '../../contract/json.ts'
import { ownId } from '../../contract/identity/keys.ts'
import { unflatten } from '../../contract/unflatten.ts'
import { findContact, findOrCreateIdentified, type Contacts } from './contacts.ts'
import { standsForNothing } from './plain-keys.ts'
import { type Profile, timeOf } from './profile.ts'
import { awaitExternalId, type Link } from './register.ts'

export type Conversation = {
  readonly id: string
  /** The last body that replaced the values, and the number of its submission at acceptance. */
  record: ConversationRecord
  newestNumber: number
  /** The time of the greatest `updatedAt` of all submissions. */
  version: number | null
  /** The union over all submissions. */
  readonly contacts: Set<Profile>
  /** By id in the conversation: the last form of each message. */
  readonly messages: Map<string, Message>
}

type Message = {
  id: string
  record: MessageRecord
  rawData: JsonObject
  contact: Link
  newestNumber: number
  /** The time of `updatedAt` of its submission. */
  version: number | null
}

type State = { contacts: Contacts; conversations: Map<string, Conversation> }

/** Replaces the stored values unless they are newer. Messages and contacts not in the body stay. */
export const submitConversation = (
  { contacts, conversations }: State,
  submission: SubmissionOf<'submit_conversation'>,
  identify: (record: ContactRecord) => Profile,
): 'applied' | 'superseded' => {
  const { body, number, originalNumber = number } = submission
  const id = ownId(contacts.realm, 'conversation', body.source, body.id)
  const former = conversations.get(id)
  const conversation: Conversation = former ?? {
    id,
    record: body,
    newestNumber: originalNumber,
    version: null,
    contacts: new Set(),
    messages: new Map(),
  }
  conversations.set(id, conversation)
  const stays = former !== undefined && isNewer(former, submission)
  if (!stays) Object.assign(conversation, { record: body, newestNumber: originalNumber })
  const version = versionOf(body)
  if (version !== null && version > (conversation.version ?? -Infinity)) conversation.version = version

  const present = new Map<string, Profile>()
  for (const record of namedContacts(contacts, submission)) {
    const contact = identify(record)
    present.set(record.id, contact)
    conversation.contacts.add(contact)
  }
  const written = writeMessages(contacts, submission, { conversation, present })
  return submission.originalNumber !== undefined && stays && written === 0 ? 'superseded' : 'applied'
}

/** Whether the stored data is newer: by `updatedAt`, or by the original number of a replay. */
const isNewer = (
  stored: { version: number | null; newestNumber: number },
  { body, originalNumber }: SubmissionOf<'submit_conversation'>,
): boolean => {
  if (originalNumber !== undefined && stored.newestNumber > originalNumber) return true
  const version = versionOf(body)
  return stored.version !== null && version !== null && version < stored.version
}

const versionOf = ({ updatedAt }: ConversationRecord): number | null => (updatedAt == null ? null : timeOf(updatedAt))

/** Returns the contact records in their order, without doubles. Creates their contacts. */
const namedContacts = (
  contacts: Contacts,
  { body, number, originalNumber }: SubmissionOf<'submit_conversation'>,
): ContactRecord[] => {
  const keyOf = ({ source, id }: ContactRecord) => JSON.stringify([source ?? null, id])
  const records = withoutDoubles(sourced(body.contacts), keyOf)
  // The sources that one submission adds to an external id are in the order of their names.
  for (const record of records.toSorted((a, b) => (codePointsOf(a.source) < codePointsOf(b.source) ? -1 : 1))) {
    findOrCreateIdentified(contacts, { record, defaultSource: body.source, moment: { number, originalNumber } })
  }
  return records
}

/** Returns the number of written messages. */
const writeMessages = (
  contacts: Contacts,
  submission: SubmissionOf<'submit_conversation'>,
  { conversation, present }: { conversation: Conversation; present: ReadonlyMap<string, Profile> },
): number => {
  const { body, number, originalNumber = number } = submission
  const senderOf = ({ contactId }: MessageRecord): Link => {
    if (contactId === undefined || standsForNothing(contactId)) return { profile: null }
    const known = present.get(contactId) ?? findContact(contacts, contactId, body.source)
    return known ? { profile: known } : awaitExternalId(contacts, contactId)
  }
  const records = withoutDoubles(body.messages, (message) => message.id).filter(({ id }) => {
    const stored = conversation.messages.get(id)
    return stored === undefined || !isNewer(stored, submission)
  })
  for (const record of records) {
    conversation.messages.set(record.id, {
      id: ownId(contacts.realm, 'message', conversation.id, record.id),
      record,
      rawData: rawDataOf(record, body),
      contact: senderOf(record),
      newestNumber: originalNumber,
      version: versionOf(body),
    })
  }
  return records.length
}

/** A text that sorts by the code points of the source. JavaScript compares UTF-16 units. */
const codePointsOf = (source: string | null | undefined): string =>
  Array.from(source ?? '', (character) => character.codePointAt(0)!.toString(16).padStart(6, '0')).join(' ')

/** A record without a source gets that of the last record with the same id and a source. */
const sourced = (records: readonly ContactRecord[]): ContactRecord[] =>
  records.map((record) => {
    const named = records.findLast(({ id, source }) => id === record.id && source != null)
    return record.source == null && named ? { ...record, source: named.source } : record
  })

/** Of elements with the same key, only the last stays, in its place. */
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

/** A key of the message wins. A spread keeps a `__proto__` key. */
const rawDataOf = (message: MessageRecord, conversation: ConversationRecord): JsonObject => ({
  ...(conversation.propagatePropertiesToMessages === true && unflattenedProperties(conversation)),
  ...unflattenedProperties(message),
})
