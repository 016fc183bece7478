import { storableDateTime } from '../../contract/date-time.ts'
import type { JobOf } from '../../contract/job.ts'
import {
  type ConversationRecord,
  lastOfEach,
  type MessageRecord,
  namedContacts,
} from '../../contract/conversation-record.ts'
import type { JsonObject } from '../../contract/json.ts'
import { type HashKey, ownId } from '../../contract/identity/own-id.ts'
import { contactGroup, type Reference } from '../../contract/identity/reference.ts'
import { unflattenIf } from '../../contract/unflatten.ts'
import type { ClaimRow, ConversationRow, KeyRow, MessageRow } from '../../db/store.ts'
import { type Identified, identifiedContact } from './identified.ts'
import { propagate } from './propagate.ts'

type ConversationRows = {
  keys: KeyRow[]
  claims: ClaimRow[]
  conversation: ConversationRow
  messages: MessageRow[]
}

/** A conversation submission as rows: what it identifies, then the conversation, then its messages. */
export const conversationRows = (hashKey: HashKey, job: JobOf<'submit_conversation'>): ConversationRows => {
  const { body, workspaceId, number } = job
  const realm = { hashKey, workspaceId }
  const saying = { ...realm, number, homeSource: body.source }
  const contacts = namedContacts(body)
  const identified = contacts.map((contact) => identifiedContact(saying, contact))
  const id = ownId(realm, 'conversation', body.source, body.id)
  const properties = unflattenIf(body.shouldUnflattenProperties, body.properties)
  const senders = new Map(
    contacts.map((contact, index) => [
      contact.id,
      senderOf(identified[index]!.key.group_id, identified[index]!.key.id),
    ]),
  )
  /** Hashing is most of the work, and a few write all the messages. */
  const sender = ({ contactId }: MessageRecord): Reference | null => {
    if (contactId === undefined) return null
    const known = senders.get(contactId) ?? senderOf(contactGroup(realm, contactId))
    senders.set(contactId, known)
    return known
  }
  return {
    keys: identified.flatMap(({ keys }) => keys),
    claims: identified.flatMap(({ claims }) => claims),
    conversation: {
      id,
      external_id: body.id,
      source: body.source,
      title: body.title ?? null,
      rating: body.rating ?? null,
      properties,
      created_at: storableDateTime(body.createdAt),
      updated_at: body.updatedAt == null ? null : storableDateTime(body.updatedAt),
      number,
      contact_keys: identified.map(({ key }: Identified) => key.id),
    },
    messages: lastOfEach(body.messages, (message) => message.id).map((message) => ({
      id: ownId(realm, 'message', id, message.id),
      conversation_id: id,
      external_id: message.id,
      incoming: message.incoming,
      content: message.content,
      source_url: message.sourceUrl ?? null,
      raw_data: rawData(body, properties, message),
      created_at: storableDateTime(message.createdAt),
      number,
      source: body.source,
      contact_ref: sender(message),
    })),
  }
}

const rawData = (conversation: ConversationRecord, properties: JsonObject, message: MessageRecord): JsonObject => {
  const own = unflattenIf(message.shouldUnflattenProperties, message.properties)
  return conversation.propagatePropertiesToMessages === true ? propagate(properties, own) : own
}

/** The sender is one of the submission's own contacts, else any contact of that external id, the conversation's source first. */
const senderOf = (group: string, preferred?: string): Reference => ({
  ids: [group],
  own: false,
  ...(preferred !== undefined && { preferred }),
})
