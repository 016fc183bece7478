import { isObject } from '../../runtime/exact-json.ts'
import type { Lines, Remark } from './lines.ts'
import type { BodyMembers } from './members.ts'

/**
 * A row of a table of conversations: fields of the conversation, and at most one `message` and one
 * `contact`.
 */
export type ConversationRow = {
  readonly value: BodyMembers
  readonly lines: Lines
  readonly doubts: readonly string[]
}

type JoinedConversation = {
  readonly value: BodyMembers
  readonly lines: readonly Lines[]
  readonly doubts: readonly Remark[]
}

/**
 * A longer conversation is sent in several submissions, which stay well below the limits of the
 * service. Each adds messages to the conversation.
 */
const MAX_MESSAGES = 1_000
const MAX_CHARACTERS = 1024 * 1024

/**
 * Collects the rows of each conversation from the whole file. Each submission of a conversation
 * repeats the title, rating and properties, since the service keeps those of the last submission.
 */
export const joinConversations = function* (rows: readonly ConversationRow[]): Generator<JoinedConversation> {
  const groups = Map.groupBy(rows, ({ value: { id, source } }, at) =>
    id === undefined ? at : JSON.stringify([source, id]),
  )
  for (const group of groups.values()) {
    const parts = group.map(partsOf)
    const own = parts.map((part) => part.own).reduce(merged)
    const contacts = mergedContacts(parts)
    for (const chunk of chunksOf(parts)) {
      const named = new Set(chunk.flatMap(({ contact }) => (contact === undefined ? [] : [keyOf(contact)])))
      yield {
        value: {
          ...own,
          contacts: [...named].map((key) => contacts.get(key)),
          messages: chunk.flatMap(({ message }) => message ?? []),
        },
        lines: chunk.map(({ lines }) => lines),
        doubts: chunk.flatMap(({ doubts }) => doubts),
      }
    }
  }
}

type RowParts = {
  readonly own: BodyMembers
  /** The author of the message. Absent without an id, and if the message answers the customer. */
  readonly contact: BodyMembers | undefined
  readonly message: BodyMembers | undefined
  readonly lines: Lines
  readonly doubts: readonly Remark[]
}

const partsOf = ({ value, lines, doubts }: ConversationRow): RowParts => {
  const { contact, message, ...own } = value as BodyMembers & { contact?: BodyMembers; message?: BodyMembers }
  const isAnswer = message?.['incoming'] === false
  const isLost = contact !== undefined && contact['id'] === undefined && !isAnswer
  const lost = `members of the contact are left out, since the row has no contact.id: ${Object.keys(contact ?? {}).join(', ')}`
  return {
    own,
    contact: contact?.['id'] !== undefined && !isAnswer ? contact : undefined,
    // A purge finds the messages of a contact by this id.
    message: message && contact?.['id'] !== undefined ? { contactId: contact['id'], ...message } : message,
    lines,
    doubts: [...doubts, ...(isLost ? [lost] : [])].map((reason) => ({ lines: [lines], reasons: [reason] })),
  }
}

const keyOf = ({ id, source }: BodyMembers): string => JSON.stringify([source, id])

const mergedContacts = (parts: readonly RowParts[]): Map<string, BodyMembers> => {
  const contacts = new Map<string, BodyMembers>()
  for (const { contact } of parts)
    if (contact !== undefined) contacts.set(keyOf(contact), merged(contacts.get(keyOf(contact)) ?? {}, contact))
  return contacts
}

/** A later value replaces an earlier one; an empty cell gives no value. */
const merged = (earlier: BodyMembers, later: BodyMembers): BodyMembers => {
  const properties = mergedProperties(earlier['properties'], later['properties'])
  return { ...earlier, ...later, ...(properties !== undefined && { properties }) }
}

/** A malformed cell stays, so that the service refuses the conversation. */
const mergedProperties = (earlier: unknown, later: unknown): unknown => {
  if (isObject(earlier) && isObject(later)) return { ...earlier, ...later }
  return isObject(later) ? (earlier ?? later) : (later ?? earlier)
}

const chunksOf = function* (parts: readonly RowParts[]): Generator<RowParts[]> {
  let chunk: RowParts[] = []
  let characters = 0
  for (const part of parts) {
    const length = JSON.stringify([part.contact, part.message]).length
    if (chunk.length > 0 && (chunk.length >= MAX_MESSAGES || characters + length > MAX_CHARACTERS)) {
      yield chunk
      chunk = []
      characters = 0
    }
    chunk.push(part)
    characters += length
  }
  yield chunk
}
