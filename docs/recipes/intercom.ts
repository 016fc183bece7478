import type { ContactRecord, Message } from 'feedback-insights-client'
import { isSame, receive, signatureOf } from './receiver.ts'
import { idOf, keyOf, numberOf, objectOf, objectsOf, subjectOf, textOf, timeOf } from './values.ts'

// WEBHOOK_SECRET is the client secret of your app. Subscribe to conversation.user.created,
// conversation.user.replied, conversation.admin.replied and conversation.rating.added. Raise
// CONVERSATIONS_PER_MINUTE of the service if you have more.
// https://developers.intercom.com/docs/webhooks/webhook-notifications

const SOURCE = 'intercom'
const CUSTOMERS = ['user', 'lead', 'contact']

type Values = Readonly<Record<string, unknown>>
/**
 * The item in `data` is a conversation.
 * https://developers.intercom.com/docs/references/rest-api/api.intercom.io/conversations/conversation
 */
type Notification = {
  readonly id?: unknown
  readonly topic?: unknown
  readonly created_at?: unknown
  readonly data?: unknown
}

receive<Notification>({
  isGenuine: ({ headers, bytes }, secret) =>
    isSame(headers['x-hub-signature'], `sha1=${signatureOf({ algorithm: 'sha1', secret, encoding: 'hex' }, bytes)}`),
  submit: async (client, { id, topic, created_at: notifiedAt, data }) => {
    const item = subjectOf(objectOf(data)['item'])
    if ((textOf(item['type']) ?? textOf(topic)?.split('.')[0]) !== 'conversation') return
    // The first message is the `source`, and in the first version of Intercom's API
    // `conversation_message`.
    const source = objectOf(item['source'] ?? item['conversation_message'])
    const rated = objectOf(item['conversation_rating'])
    const rating = numberOf(rated['rating'])
    const parts = objectsOf(objectOf(item['conversation_parts'])['conversation_parts'])
    const times = [item, ...parts].map((timed) => timed['created_at'])
    const [createdAt] = [...times, item['updated_at'], notifiedAt].flatMap((time) => timeOf(time) ?? [])
    if (createdAt === undefined) throw new TypeError('The conversation has no time')
    const updatedAt = timeOf(item['updated_at']) ?? timeOf(notifiedAt) ?? createdAt
    // A delivery may have only the first message and one reply. The other stored messages stay.
    const messages = [{ ...source, created_at: createdAt }, ...parts, remarkOf(rated)].filter(
      ({ body, attachments }) => textOf(body) !== undefined || objectsOf(attachments).length > 0,
    )
    const authors = messages.map(({ author }) => objectOf(author))
    await client.submitConversation(
      {
        id: idOf(item['id']) ?? '',
        source: SOURCE,
        title: textOf(item['title']) ?? textOf(source['subject']),
        createdAt,
        // A delivery without `conversation_rating` only adds messages. Its early `updatedAt` keeps it
        // from replacing the stored conversation.
        updatedAt: item['conversation_rating'] === undefined ? createdAt : versionOf(updatedAt, rating),
        rating,
        contacts: contactsOf(authors.filter(isCustomer), updatedAt),
        messages: messages.map((part) => messageOf(part, createdAt)),
        properties: { url: textOf(source['url']) },
      },
      { idempotencyKey: keyOf(id) },
    )
  },
  sendsConversations: true,
})

const isCustomer = ({ type }: Values): boolean => CUSTOMERS.includes(String(type))

/**
 * Intercom's times are whole seconds. A conversation can be answered and rated within one second.
 * One millisecond less makes the delivery without a rating the older one.
 */
const versionOf = (updatedAt: string, rating: number | undefined): string =>
  rating === undefined ? new Date(Date.parse(updatedAt) - 1).toISOString() : updatedAt

/** The remark that a customer wrote beside the rating, as a message. */
const remarkOf = ({ remark, contact, customer, created_at }: Values): Values => {
  const author = { type: 'contact', id: objectOf(contact ?? customer)['id'] }
  return { id: 'rating', body: remark, author, created_at }
}

/**
 * The authors of messages as contacts, each once, with the values from all their messages. An
 * author without an id makes no contact.
 */
const contactsOf = (authors: readonly Values[], updatedAt: string): ContactRecord[] => {
  const contacts = new Map<string, Values>()
  for (const { id: given, name, email } of authors) {
    const id = idOf(given)
    if (id === undefined) continue
    const { $name, $email } = contacts.get(id) ?? {}
    contacts.set(id, { $name: idOf(name) ?? $name, $email: idOf(email) ?? $email, $updatedAt: updatedAt })
  }
  return [...contacts].map(([id, properties]) => ({ id, source: SOURCE, properties }))
}

const messageOf = ({ id, body, author, attachments, created_at }: Values, begunAt: string): Message => {
  const files = objectsOf(attachments).map(({ name, url, content_type }) => ({ name, url, content_type }))
  // A message with files alone has their names as its text.
  const content = textOf(body) ?? files.flatMap(({ name, url }) => textOf(name) ?? textOf(url) ?? []).join('\n')
  const createdAt = timeOf(created_at) ?? begunAt
  return {
    // A message without an id gets one from its time and text.
    id: idOf(id) ?? signatureOf({ algorithm: 'sha256', secret: createdAt, encoding: 'hex' }, content),
    incoming: isCustomer(objectOf(author)),
    contactId: idOf(objectOf(author)['id']),
    content,
    createdAt,
    ...(files.length > 0 && { properties: { attachments: files } }),
  }
}
