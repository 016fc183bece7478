import { instantOf, postgresDateTime } from '../contract/date-time.ts'
import { conversationId, type ConversationRecord, namedContacts } from '../contract/conversation-record.ts'
import type { ContactRecord } from '../contract/contact-record.ts'
import type { Realm } from '../contract/identity/keys.ts'
import { numberAtAcceptance, type SubmissionOf } from '../contract/submission.ts'
import { unflattenIf } from '../contract/unflatten.ts'
import { givenColumns } from '../contract/records/tables.ts'
import type { Changes } from './changes.ts'
import { bySource, type Contacts } from './contacts.ts'
import { Messages } from './messages.ts'
import type { Profile } from './profile.ts'
import type { Unresolved } from './profiles.ts'
import type { Need, StoredRow } from './stored.ts'

type ConversationSubmission = SubmissionOf<'submit_conversation'>
type Conversation = {
  /** The conversation may be stored, so its unloaded parts are unknown. */
  mayBeStored: boolean
  /** The greatest known `updatedAt` of all its submissions. */
  version: number | null
  /** The number at acceptance of the submission that the row shows. */
  newest: number
  /** The submission of this stride that replaces the row. */
  replacement: ConversationSubmission | undefined
  /** The greatest `updatedAt`, if this stride raises it. */
  latest: string | undefined
  isTouched: boolean
  /** The contacts that this stride adds. */
  contacts: Set<Profile>
}

/** The conversations of a stride. */
export class Conversations {
  readonly realm: Realm
  readonly contacts: Contacts
  readonly messages: Messages
  readonly #conversations = new Map<string, Conversation>()

  constructor(realm: Realm, contacts: Contacts, unresolved: Unresolved) {
    this.realm = realm
    this.contacts = contacts
    this.messages = new Messages(realm, contacts, unresolved)
  }

  /** Takes the requested conversations and the rows of the stored ones. */
  learn(asked: ReadonlyMap<string, Need>, rows: readonly StoredRow[]): void {
    for (const id of asked.keys()) this.#conversations.set(id, openConversation({ mayBeStored: false }))
    for (const row of rows)
      if (row.kind === 'conversation') this.#conversations.set(row.key, openConversation({ mayBeStored: true, ...row }))
  }

  /**
   * Replaces the row unless the submission is late: an earlier one had a later `updatedAt`, or the
   * row shows a submission that was accepted after the original of this replay. Adds the contacts.
   * A replay that writes neither the row nor a message is superseded. `identify` also identifies the
   * account in a contact.
   */
  submit(
    submission: ConversationSubmission,
    identify: (record: ContactRecord) => Profile,
  ): { id: string; state: 'applied' | 'superseded' } {
    const { body, originalNumber } = submission
    const id = conversationId(this.realm, body)
    const conversation = this.#open(id)
    const version = versionOf(body)
    const isLate =
      (originalNumber !== undefined && conversation.newest > originalNumber) ||
      (version !== null && conversation.version !== null && version < conversation.version)
    if (!isLate) Object.assign(conversation, { replacement: submission, newest: numberAtAcceptance(submission) })
    if (version !== null && version > (conversation.version ?? Number.NEGATIVE_INFINITY)) {
      conversation.version = version
      conversation.latest = postgresDateTime(body.updatedAt!)
    }
    conversation.isTouched = true
    const senders = this.#identifyContacts(submission, conversation, identify)
    const writesAll = !isLate && originalNumber === undefined
    const { mayBeStored } = conversation
    const written = this.messages.write({ conversationId: id, mayBeStored, submission, senders, writesAll })
    return { id, state: originalNumber !== undefined && isLate && written === 0 ? 'superseded' : 'applied' }
  }

  writeTo(changes: Changes): void {
    for (const [id, { replacement, latest, isTouched, contacts }] of this.#conversations) {
      if (!isTouched) continue
      if (replacement === undefined) changes.conversation_touched.push({ id, latest_version: latest })
      else
        changes.conversation.push({
          ...givenColumns('conversation', replacement.body),
          id,
          properties: unflattenIf(replacement.body.shouldUnflattenProperties, replacement.body.properties),
          latest_version: latest,
          number: replacement.number,
          newest_number: replacement.originalNumber,
        })
      for (const contact of contacts) changes.conversation_contact.push({ conversation_id: id, contact_id: contact.id })
    }
    this.messages.writeTo(changes)
  }

  #open(id: string): Conversation {
    let conversation = this.#conversations.get(id)
    if (conversation === undefined)
      this.#conversations.set(id, (conversation = openConversation({ mayBeStored: true })))
    return conversation
  }

  /**
   * Identifies the contacts, and returns them by external id. First creates them in the order of
   * their sources: all get the same number, so the first source by name counts as the oldest
   * (`byAge` in contacts.ts).
   */
  #identifyContacts(
    submission: ConversationSubmission,
    { contacts }: Conversation,
    identify: (record: ContactRecord) => Profile,
  ): Map<string, Profile> {
    const records = namedContacts(submission.body)
    for (const record of records.toSorted((a, b) => bySource(a.source ?? '', b.source ?? '')))
      this.contacts.findOrCreate({ record, defaultSource: submission.body.source, submission })
    const senders = new Map<string, Profile>()
    for (const record of records) {
      const contact = identify(record)
      senders.set(record.id, contact)
      contacts.add(contact)
    }
    return senders
  }
}

const openConversation = (known: { mayBeStored: boolean; version?: number; number?: number }): Conversation => ({
  mayBeStored: known.mayBeStored,
  version: known.version ?? null,
  newest: known.number ?? 0,
  replacement: undefined,
  latest: undefined,
  isTouched: false,
  contacts: new Set(),
})

const versionOf = ({ updatedAt }: ConversationRecord): number | null =>
  updatedAt == null ? null : instantOf(postgresDateTime(updatedAt))
