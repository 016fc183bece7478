import { type ConversationRecord, lastOfEach, type MessageRecord } from '../contract/conversation-record.ts'
import { instantOf, postgresDateTime } from '../contract/date-time.ts'
import { contactIdKey, ownId, type Realm } from '../contract/identity/keys.ts'
import { isPlaceholder } from '../contract/identity/placeholders.ts'
import type { JsonObject } from '../contract/json.ts'
import { numberAtAcceptance, type SubmissionOf } from '../contract/submission.ts'
import { unflattenIf } from '../contract/unflatten.ts'
import { givenColumns } from '../contract/records/tables.ts'
import type { Changes } from './changes.ts'
import type { Contacts } from './contacts.ts'
import { Missing, type Profile } from './profile.ts'
import { type Link, linkTo, type Unresolved } from './profiles.ts'
import type { Need, StoredRow } from './stored.ts'

type Message = {
  conversationId: string
  record: MessageRecord
  rawData: JsonObject
  sender: Link
  submission: SubmissionOf<'submit_conversation'>
  version: string | undefined
}
/** `newest`: the number at acceptance of the submission that brought the message. */
type Stored = { newest: number; version: number | null }
/** The messages of one submission. `writesAll`: no stored message can be newer. */
type MessagesToWrite = {
  conversationId: string
  mayBeStored: boolean
  submission: SubmissionOf<'submit_conversation'>
  senders: ReadonlyMap<string, Profile>
  writesAll: boolean
}

/** The messages of a stride. */
export class Messages {
  readonly realm: Realm
  readonly contacts: Contacts
  readonly unresolved: Unresolved
  readonly #messages = new Map<string, Message>()
  /** Stored messages among the requested ones; undefined for a message that is not stored. */
  readonly #stored = new Map<string, Stored | undefined>()

  constructor(realm: Realm, contacts: Contacts, unresolved: Unresolved) {
    this.realm = realm
    this.contacts = contacts
    this.unresolved = unresolved
  }

  learn(asked: ReadonlyMap<string, Need>, rows: readonly StoredRow[]): void {
    for (const id of asked.keys()) this.#stored.set(id, undefined)
    for (const row of rows)
      if (row.kind === 'message') this.#stored.set(row.key, { newest: row.number, version: row.version ?? null })
  }

  /**
   * Writes each message unless the submission that wrote it last has a later `updatedAt`, or was
   * accepted after the original of this replay. Returns how many messages it writes.
   */
  write(toWrite: MessagesToWrite): number {
    const { conversationId, submission, senders, writesAll } = toWrite
    const { body } = submission
    const properties = unflattenIf(body.shouldUnflattenProperties, body.properties)
    const version = body.updatedAt == null ? undefined : postgresDateTime(body.updatedAt)
    let count = 0
    for (const record of lastOfEach(body.messages, (message) => message.id)) {
      const id = ownId(this.realm, 'message', conversationId, record.id)
      if (!writesAll && this.#isHeldNewer(id, toWrite)) continue
      const rawData = rawDataOf(record, body, properties)
      const sender = this.#senderOf(record, senders, body.source)
      this.#messages.set(id, { conversationId, record, rawData, sender, submission, version })
      count++
    }
    return count
  }

  writeTo(changes: Changes): void {
    for (const [id, { conversationId, record, rawData, sender, submission, version }] of this.#messages) {
      if (sender.awaits !== null) changes.unresolved.push({ key_id: sender.awaits, slot: 'm', record_id: id })
      changes.message.push({
        ...givenColumns('message', record),
        id,
        conversation_id: conversationId,
        contact_id: sender.profile?.current().id,
        raw_data: rawData,
        version,
        number: submission.number,
        newest_number: submission.originalNumber,
      })
    }
  }

  #isHeldNewer(id: string, { conversationId, mayBeStored, submission }: MessagesToWrite): boolean {
    const held = this.#held(id, conversationId, mayBeStored)
    if (held === undefined) return false
    const { originalNumber, body } = submission
    if (originalNumber !== undefined && held.newest > originalNumber) return true
    return body.updatedAt != null && held.version !== null && instantOf(postgresDateTime(body.updatedAt)) < held.version
  }

  #held(id: string, conversationId: string, mayBeStored: boolean): Stored | undefined {
    const written = this.#messages.get(id)
    if (written !== undefined)
      return {
        newest: numberAtAcceptance(written.submission),
        version: written.version === undefined ? null : instantOf(written.version),
      }
    if (mayBeStored && !this.#stored.has(id)) throw new Missing({ kind: 'messages', conversationId })
    return this.#stored.get(id)
  }

  /**
   * The sender: one of the conversation's contacts, else the contact with this id in the
   * conversation's source, else in the oldest source.
   */
  #senderOf({ contactId }: MessageRecord, senders: ReadonlyMap<string, Profile>, source: string): Link {
    if (contactId === undefined || isPlaceholder(contactId)) return linkTo(undefined)
    const named = senders.get(contactId)
    if (named !== undefined) return linkTo(named)
    const key = contactIdKey(this.realm, contactId)
    const found = this.contacts.findByKey(key, source)
    return found === undefined ? this.unresolved.linkWhenKnown(this.contacts.epochs.idOf(key)) : linkTo(found)
  }
}

/**
 * The raw data of a message: its properties, and those of the conversation if the conversation
 * propagates them. On a conflict, the property of the message wins. `conversationProperties` are
 * unflattened. The code spreads, since `Object.assign` would lose a key `__proto__`.
 */
export const rawDataOf = (
  message: MessageRecord,
  conversation: ConversationRecord,
  conversationProperties: JsonObject,
): JsonObject => {
  const own = unflattenIf(message.shouldUnflattenProperties, message.properties)
  return conversation.propagatePropertiesToMessages === true ? { ...conversationProperties, ...own } : own
}
