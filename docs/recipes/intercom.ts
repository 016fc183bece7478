import type { Message } from 'feedback-insights-client'
import { isSame, receive, signatureOf, timeOf } from './receiver.ts'

// WEBHOOK_SECRET is the client secret of your app. Subscribe to conversation.user.created, conversation.user.replied,
// conversation.admin.replied and conversation.rating.added. The service takes CONVERSATIONS_PER_MINUTE; raise it if you have more.
// https://developers.intercom.com/docs/webhooks/webhook-notifications

const SOURCE = 'intercom'
const CUSTOMERS = ['user', 'lead', 'contact']

type Author = { readonly type: string; readonly id: string; readonly name?: string; readonly email?: string }
type Part = {
  readonly id: string
  readonly body?: string | null
  readonly author: Author
  readonly created_at?: number
}
/** https://developers.intercom.com/docs/references/rest-api/api.intercom.io/conversations/conversation */
type Conversation = {
  readonly type: string
  readonly id: string
  readonly created_at: number
  readonly updated_at?: number
  readonly title?: string | null
  readonly source: Part & { readonly subject?: string; readonly url?: string | null }
  readonly conversation_parts?: { readonly conversation_parts: readonly Part[] }
  readonly conversation_rating?: { readonly rating?: number | null } | null
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
    const customers = said.flatMap(({ author }) => (CUSTOMERS.includes(author.type) ? [author] : []))
    await client.submitConversation(
      {
        id: item.id,
        source: SOURCE,
        title: item.title || source.subject || undefined,
        createdAt: timeOf(item.created_at)!,
        updatedAt: timeOf(item.updated_at),
        rating: rating?.rating,
        contacts: [...new Map(customers.map((author) => [author.id, author])).values()].map(contactOf),
        messages: said.map((part) => messageOf(part, item.created_at)),
        properties: { url: source.url ?? undefined },
      },
      { idempotencyKey: id },
    )
  },
})

const contactOf = ({ id, name, email }: Author) => ({
  id,
  source: SOURCE,
  properties: { $name: name || undefined, $email: email || undefined },
})

const messageOf = ({ id, body, author, created_at: createdAt }: Part, begunAt: number): Message => ({
  id,
  incoming: CUSTOMERS.includes(author.type),
  contactId: author.id,
  content: body ?? '',
  createdAt: timeOf(createdAt ?? begunAt)!,
})
