import { isSame, receive, signatureOf, timeOf } from './receiver.ts'

// A webhook that a trigger calls with the body of zendesk-trigger.json, or one that is subscribed to the event "Ticket created".
// https://developer.zendesk.com/documentation/webhooks/verifying/

const SOURCE = 'zendesk'

type Ticket = {
  readonly id: string
  readonly subject?: string | null
  readonly description?: string | null
  readonly url?: string
  readonly created_at?: string
  readonly requester_id?: string
}
/** https://developer.zendesk.com/api-reference/webhooks/event-types/ticket-events/ */
type Event = { readonly type: string; readonly id: string; readonly detail: Ticket }
type Triggered = {
  readonly ticket: Ticket
  readonly requester: { readonly id: string; readonly name: string; readonly email: string }
  readonly organization: string
}

receive<Event | Triggered>({
  isGenuine: ({ headers, bytes }, secret) => {
    const signed = [headers['x-zendesk-webhook-signature-timestamp'] ?? '', bytes]
    const expected = signatureOf({ algorithm: 'sha256', secret, encoding: 'base64' }, ...signed)
    return isSame(headers['x-zendesk-webhook-signature'], expected)
  },
  submit: async (client, said, { headers }) => {
    if ('type' in said && said.type !== 'zen:event-type:ticket.created') return
    const ticket = 'ticket' in said ? said.ticket : said.detail
    // All attempts at one invocation have its id.
    const options = { idempotencyKey: headers['x-zendesk-webhook-invocation-id'] }
    if ('requester' in said) {
      const { id, name, email } = said.requester
      // A placeholder without a value is an empty text.
      const properties = { $name: name || undefined, $email: email || undefined }
      await client.identifyContact({ id, source: SOURCE, properties }, options)
    }
    await client.createFeedback(
      {
        description: ticket.description ?? '',
        title: ticket.subject,
        source: SOURCE,
        sourceId: ticket.id,
        contactId: 'requester' in said ? said.requester.id : said.detail.requester_id,
        isExternalContactId: true,
        account: 'organization' in said && said.organization ? { name: said.organization } : undefined,
        createdAt: timeOf(ticket.created_at),
        sourceData: { ...ticket, description: undefined },
      },
      options,
    )
  },
})
