import type { Client, FeedbackSubmission } from 'feedback-insights-client'
import { isSame, receive, signatureOf } from './receiver.ts'
import { hostOf, idOf, numberOf, objectOf, textOf, timeOf } from './values.ts'

// Segment signs with HMAC-SHA1, in hexadecimal, in X-Signature; with batching on it signs the first event alone, so leave that off.
// RudderStack signs nothing: give its webhook the header `Authorization: Bearer SECRET`.

/** Whose ids `userId` are: those of your application, however an event came. */
const SOURCE = 'app'

type Values = Readonly<Record<string, unknown>>
/** https://segment.com/docs/connections/spec and https://www.rudderstack.com/docs/event-spec/standard-events */
type Event = {
  readonly type: string
  readonly messageId: string
  readonly userId?: unknown
  readonly groupId?: unknown
  readonly event?: unknown
  readonly traits?: Values | null
  readonly context?: { readonly traits?: Values | null } | null
  readonly properties?: Values | null
  readonly timestamp?: unknown
  readonly originalTimestamp?: unknown
}

/** Which events are feedback, and what of their properties says what. A map: an event may be named `constructor`. */
const FEEDBACK: ReadonlyMap<unknown, (said: Values) => FeedbackSubmission> = new Map([
  [
    'Product Reviewed',
    ({ review_id, review_body, rating }: Values) => ({
      description: textOf(review_body) ?? '',
      rating: numberOf(rating),
      sourceId: idOf(review_id),
    }),
  ],
])

receive<Event>({
  isGenuine: ({ headers, bytes }, secret) =>
    headers['x-signature'] === undefined
      ? isSame(headers['authorization'], `Bearer ${secret}`)
      : isSame(headers['x-signature'], signatureOf({ algorithm: 'sha1', secret, encoding: 'hex' }, bytes)),
  submit: async (client, event) => {
    const options = { idempotencyKey: event.messageId }
    switch (event.type) {
      case 'identify':
        return identify(client, event, options)
      case 'group':
        return group(client, event, options)
      case 'track':
        return track(client, event, options)
      default:
        return undefined
    }
  },
})

type Options = { readonly idempotencyKey: string }

/** A user without an id is not known to your application and left out; the company is kept. */
const identify = async (client: Client, { userId, traits, context }: Event, options: Options): Promise<unknown> => {
  const { name, firstName, lastName, email, createdAt, company, ...rest } = objectOf(traits ?? context?.traits)
  const id = idOf(userId)
  const account = accountOf(objectOf(company)['id'], objectOf(company))
  if (id === undefined) return account && client.identifyAccount(account, options)
  const properties = {
    ...rest,
    // A company without an id stays with the user.
    ...(account === undefined && company != null && { company }),
    $name: textOf(name) ?? textOf([firstName, lastName].flatMap((part) => textOf(part) ?? []).join(' ')),
    $email: textOf(email),
    $createdAt: timeOf(createdAt),
  }
  return client.identifyContact({ id, source: SOURCE, properties, account }, options)
}

/** With a user, the user belongs to the group from then on. */
const group = async (client: Client, { userId, groupId, traits }: Event, options: Options): Promise<unknown> => {
  const account = accountOf(groupId, objectOf(traits))
  if (account === undefined) return undefined
  const id = idOf(userId)
  return id === undefined
    ? client.identifyAccount(account, options)
    : client.identifyContact({ id, source: SOURCE, account }, options)
}

/** An account needs a name and a domain; where there is none, the id is as unique. What is not told stays as it is. */
const accountOf = (givenId: unknown, { id: _, name, website, createdAt, ...rest }: Values) => {
  const id = idOf(givenId)
  if (id === undefined) return undefined
  const isTold = [name, website, createdAt].some((value) => value !== undefined) || Object.keys(rest).length > 0
  const properties = {
    ...rest,
    $name: textOf(name) ?? id,
    $domain: hostOf(website) ?? id,
    $createdAt: timeOf(createdAt),
  }
  return { id, ...(isTold && { properties }) }
}

const track = async (client: Client, event: Event, options: Options): Promise<unknown> => {
  const properties = objectOf(event.properties)
  const said = FEEDBACK.get(event.event)?.(properties)
  if (said === undefined) return undefined
  const feedback: FeedbackSubmission = {
    ...said,
    source: SOURCE,
    contactId: idOf(event.userId),
    isExternalContactId: true,
    createdAt: timeOf(event.originalTimestamp) ?? timeOf(event.timestamp),
    sourceData: { event: String(event.event), ...properties },
  }
  return client.createFeedback(feedback, options)
}
