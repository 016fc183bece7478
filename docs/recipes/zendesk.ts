import { isRecent, isSame, receive, signatureOf } from './receiver.ts'
import { idOf, textOf, timeOf } from './values.ts'

// A webhook that a trigger calls with the body of zendesk-trigger.json, or one that is subscribed to the event "Ticket created".
// https://developer.zendesk.com/documentation/webhooks/verifying/

const SOURCE = 'zendesk'

type Ticket = {
  readonly id: unknown
  readonly subject?: string | null
  readonly description?: string | null
  readonly url?: string
  readonly created_at?: string
  readonly requester_id?: unknown
}
/** https://developer.zendesk.com/api-reference/webhooks/event-types/ticket-events/ */
type Event = { readonly type: string; readonly id: string; readonly detail: Ticket }
type Triggered = {
  readonly ticket: Ticket
  readonly requester?: { readonly id?: unknown; readonly name?: unknown; readonly email?: unknown } | null
  readonly organization?: unknown
}

receive<Event | Triggered>({
  isGenuine: ({ headers, bytes }, secret) => {
    const time = headers['x-zendesk-webhook-signature-timestamp']
    const expected = signatureOf({ algorithm: 'sha256', secret, encoding: 'base64' }, time ?? '', bytes)
    return isSame(headers['x-zendesk-webhook-signature'], expected) && isRecent(time)
  },
  submit: async (client, said, { headers }) => {
    if ('type' in said && said.type !== 'zen:event-type:ticket.created') return
    const ticket = 'ticket' in said ? said.ticket : said.detail
    // All attempts at one invocation have its id.
    const options = { idempotencyKey: headers['x-zendesk-webhook-invocation-id'] }
    // A placeholder of the trigger without a value is an empty text.
    const requester = 'ticket' in said ? (said.requester ?? {}) : { id: said.detail.requester_id }
    const id = idOf(requester.id)
    const [name, email] = 'name' in requester ? [textOf(requester.name), textOf(requester.email)] : []
    const organization = 'organization' in said ? textOf(said.organization) : undefined
    if (id !== undefined && (name ?? email) !== undefined) {
      await client.identifyContact({ id, source: SOURCE, properties: { $name: name, $email: email } }, options)
    }
    await client.createFeedback(
      {
        description: ticket.description ?? '',
        title: ticket.subject,
        source: SOURCE,
        sourceId: idOf(ticket.id),
        contactId: id,
        isExternalContactId: true,
        account: organization === undefined ? undefined : { name: organization },
        createdAt: timeOf(ticket.created_at),
        sourceData: { ...ticket, description: undefined },
      },
      options,
    )
  },
})
