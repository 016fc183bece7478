import { isRecent, isSame, receive, signatureOf } from './receiver.ts'
import { idOf, keyOf, objectOf, textOf, timeOf } from './values.ts'

// A webhook that a trigger calls with the body of zendesk-trigger.json, or one that is subscribed to the event "Ticket created".
// https://developer.zendesk.com/documentation/webhooks/verifying/

const SOURCE = 'zendesk'

type Values = Readonly<Record<string, unknown>>
/** https://developer.zendesk.com/api-reference/webhooks/event-types/ticket-events/ */
type Event = { readonly type: unknown; readonly detail: Values }
type Triggered = { readonly ticket: Values; readonly requester?: unknown; readonly organization?: unknown }

receive<Event | Triggered>({
  isGenuine: ({ headers, bytes }, secret) => {
    const time = headers['x-zendesk-webhook-signature-timestamp']
    const expected = signatureOf({ algorithm: 'sha256', secret, encoding: 'base64' }, time ?? '', bytes)
    return isSame(headers['x-zendesk-webhook-signature'], expected) && isRecent(time)
  },
  submit: async (client, said, { headers }) => {
    if ('type' in said && said.type !== 'zen:event-type:ticket.created') return
    const [ticket, requester, organization] =
      'ticket' in said
        ? [said.ticket, objectOf(said.requester), idOf(said.organization)]
        : [said.detail, { id: said.detail['requester_id'] } as Values, undefined]
    // All attempts at one invocation have its id.
    const options = { idempotencyKey: keyOf(headers['x-zendesk-webhook-invocation-id']) }
    const createdAt = timeOf(ticket['created_at'])
    // A placeholder of the trigger without a value is an empty text.
    const [id, name, email] = [idOf(requester['id']), idOf(requester['name']), idOf(requester['email'])]
    const isKnown = (name ?? email) !== undefined
    if (id !== undefined && isKnown) {
      // Tickets come out of order, and what an older one says of the requester replaces nothing.
      const properties = { $name: name, $email: email, $updatedAt: createdAt }
      await client.identifyContact({ id, source: SOURCE, properties }, options)
    }
    await client.createFeedback(
      {
        description: textOf(ticket['description']) ?? '',
        title: textOf(ticket['subject']),
        source: SOURCE,
        sourceId: idOf(ticket['id']),
        contactId: id,
        isExternalContactId: true,
        contact: id === undefined && isKnown ? { name, email } : undefined,
        account: organization === undefined ? undefined : { name: organization },
        createdAt,
        sourceData: { ...ticket, description: undefined },
      },
      options,
    )
  },
})
