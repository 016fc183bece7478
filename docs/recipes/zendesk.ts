import { isRecent, isSame, receive, signatureOf } from './receiver.ts'
import { idOf, keyOf, objectOf, subjectOf, textOf, timeOf } from './values.ts'

// Takes the webhook of a trigger with the body of zendesk-trigger.json, or of the event "Ticket
// created". https://developer.zendesk.com/documentation/webhooks/verifying/

const SOURCE = 'zendesk'
const CREATED = 'zen:event-type:ticket.created'

/**
 * An event has `type` and `detail`; a trigger has the members of zendesk-trigger.json.
 * https://developer.zendesk.com/api-reference/webhooks/event-types/ticket-events/
 */
type Payload = Readonly<Record<'type' | 'detail' | 'ticket' | 'requester' | 'organization', unknown>>

receive<Payload>({
  isGenuine: ({ headers, bytes }, secret) => {
    const time = headers['x-zendesk-webhook-signature-timestamp']
    const expected = signatureOf({ algorithm: 'sha256', secret, encoding: 'base64' }, time ?? '', bytes)
    return isSame(headers['x-zendesk-webhook-signature'], expected) && isRecent(time)
  },
  submit: async (client, { type, detail, ...triggered }, { headers }) => {
    if ((textOf(type) ?? CREATED) !== CREATED) return
    const ticket = subjectOf(triggered.ticket ?? detail)
    const requester = detail === undefined ? objectOf(triggered.requester) : { id: ticket['requester_id'] }
    const organization = idOf(triggered.organization)
    // Zendesk repeats an invocation under the same id.
    const options = { idempotencyKey: keyOf(headers['x-zendesk-webhook-invocation-id']) }
    const createdAt = timeOf(ticket['created_at'])
    // A placeholder of the trigger without a value is an empty text.
    const [id, name, email] = ['id', 'name', 'email'].map((key) => idOf(requester[key]))
    const isKnown = (name ?? email) !== undefined
    if (id !== undefined && isKnown) {
      // Tickets come out of order, and an older ticket must not replace values of the requester.
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
