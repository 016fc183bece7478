import type { Message } from 'feedback-insights-client'
import { isSame, receive, signatureOf } from './receiver.ts'
import { idOf, numberOf, objectOf, textOf, timeOf } from './values.ts'

// WEBHOOK_SECRET is the client secret of your app. Subscribe to conversation.user.created, conversation.user.replied,
// conversation.admin.replied and conversation.rating.added. The service takes CONVERSATIONS_PER_MINUTE; raise it if you have more.
// https://developers.intercom.com/docs/webhooks/webhook-notifications

const SOURCE = 'intercom'
const CUSTOMERS = ['user', 'lead', 'contact']

type Author = { readonly type?: unknown; readonly id?: unknown; readonly name?: unknown; readonly email?: unknown }
type Part = {
  readonly id: unknown
  readonly body?: string | null
  readonly author?: Author | null
  readonly created_at?: number
}
/** https://developers.intercom.com/docs/references/rest-api/api.intercom.io/conversations/conversation */
type Conversation = {
  readonly type: string
  readonly id: unknown
  readonly created_at: number
  readonly updated_at?: number
  readonly title?: string | null
  readonly source: Part & { readonly subject?: string; readonly url?: string | null }
  readonly conversation_parts?: { readonly conversation_parts?: readonly Part[] | null } | null
  readonly conversation_rating?: { readonly rating?: unknown } | null
}
type Notification = { readonly id: string; readonly topic: string; readonly data: { readonly item: Conversation } }

receive<Notification>({
  isGenuine: ({ headers, bytes }, secret) =>
    isSame(headers['x-hub-signature'], `sha1=${signatureOf({ algorithm: 'sha1', secret, encoding: 'hex' }, bytes)}`),
  submit: async (client, { id, data: { item } }) => {
    if (item.type !== 'conversation') return
    const { source, conversation_parts: parts, conversation_rating: rating } = item
    // What is not sent again stays, so a reply that comes with the first message alone adds to it.
    const said = [{ ...source, created_at: item.created_at }, ...(parts?.conversation_parts ?? [])].filter(
      (part) => part.body,
    )
    const customers = said.flatMap(({ author }) => (isCustomer(author) ? contactOf(objectOf(author)) : []))
    await client.submitConversation(
      {
        id: String(item.id),
        source: SOURCE,
        title: textOf(item.title) ?? textOf(source.subject),
        createdAt: timeOf(item.created_at)!,
        updatedAt: timeOf(item.updated_at),
        rating: numberOf(rating?.rating),
        contacts: [...new Map(customers.map((contact) => [contact.id, contact])).values()],
        messages: said.map((part) => messageOf(part, item.created_at)),
        properties: { url: source.url ?? undefined },
      },
      { idempotencyKey: id },
    )
  },
  sendsConversations: true,
})

const isCustomer = (author: Author | null | undefined): boolean => CUSTOMERS.includes(String(author?.type))

/** Who has no id is no contact; the message is kept. */
const contactOf = ({ id: given, name, email }: Author) => {
  const id = idOf(given)
  return id === undefined ? [] : [{ id, source: SOURCE, properties: { $name: textOf(name), $email: textOf(email) } }]
}

const messageOf = ({ id, body, author, created_at: createdAt }: Part, begunAt: number): Message => ({
  id: String(id),
  incoming: isCustomer(author),
  contactId: idOf(author?.id),
  content: body ?? '',
  createdAt: timeOf(createdAt ?? begunAt)!,
})
