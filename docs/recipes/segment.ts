import type { Client, FeedbackSubmission } from 'feedback-insights-client'
import { isSame, receive, signatureOf } from './receiver.ts'
import { hostOf, idOf, keyOf, numberOf, objectOf, textOf, timeOf } from './values.ts'

// Segment signs with HMAC-SHA1, in hexadecimal, in X-Signature. With batching on, it signs only the
// first event, so leave batching off. RudderStack signs nothing: give its webhook the header
// `Authorization: Bearer SECRET`.

/** `userId` is an id of your application, in the events of all libraries. */
const SOURCE = 'app'

type Values = Readonly<Record<string, unknown>>
/**
 * https://segment.com/docs/connections/spec and
 * https://www.rudderstack.com/docs/event-spec/standard-events
 */
type Event = {
  readonly type?: unknown
  readonly messageId?: unknown
  readonly userId?: unknown
  readonly groupId?: unknown
  readonly event?: unknown
  readonly traits?: unknown
  readonly context?: unknown
  readonly properties?: unknown
  readonly timestamp?: unknown
  readonly originalTimestamp?: unknown
}

/**
 * Makes feedback from the properties of an event, by the name of the event. Not an object, since
 * each object has a member `constructor`.
 */
const FEEDBACK: ReadonlyMap<unknown, (properties: Values) => FeedbackSubmission> = new Map([
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
    const options = { idempotencyKey: keyOf(event.messageId) }
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

type Options = { readonly idempotencyKey: string | undefined }

/**
 * When the event happened: `originalTimestamp` is by the clock of a device, `timestamp` is
 * corrected.
 */
const happenedAt = ({ timestamp, originalTimestamp }: Event): string | undefined =>
  timeOf(timestamp) ?? timeOf(originalTimestamp)

/** Without a user id, submits only the company: your application does not know the user. */
const identify = async (client: Client, event: Event, options: Options): Promise<unknown> => {
  const traits = { ...objectOf(objectOf(event.context)['traits']), ...objectOf(event.traits) }
  const { name, firstName, lastName, email, createdAt, company, ...rest } = traits
  const id = idOf(event.userId)
  const account = accountOf(objectOf(company)['id'], objectOf(company), event)
  if (id === undefined) return account && client.identifyAccount(account, options)
  const properties = {
    ...rest,
    // A company without an id becomes a property of the user.
    ...(account === undefined && company != null && { company }),
    $name: idOf(name) ?? idOf([firstName, lastName].flatMap((part) => idOf(part) ?? []).join(' ')),
    $email: idOf(email),
    $createdAt: timeOf(createdAt),
    // Events come out of order, and an older event must not replace values.
    $updatedAt: happenedAt(event),
  }
  return client.identifyContact({ id, source: SOURCE, properties, account }, options)
}

/** If the event has a user, this user belongs to the group from then on. */
const group = async (client: Client, event: Event, options: Options): Promise<unknown> => {
  const account = accountOf(event.groupId, objectOf(event.traits), event)
  if (account === undefined) return undefined
  const id = idOf(event.userId)
  return id === undefined
    ? client.identifyAccount(account, options)
    : client.identifyContact({ id, source: SOURCE, account }, options)
}

/**
 * The account of an event. The service requires a name and a domain. The id takes the place of a
 * missing name or domain. An event without a name gets a time a century earlier, so that the id
 * replaces no name from another event.
 */
const accountOf = (givenId: unknown, { id: _, createdAt, ...traits }: Values, event: Event) => {
  const id = idOf(givenId)
  if (id === undefined) return undefined
  const { name, ...rest } = traits
  const at = happenedAt(event) ?? UNKNOWN_TIME
  const properties = {
    ...rest,
    $name: idOf(name) ?? id,
    $domain: hostOf(rest['website']) ?? id,
    $createdAt: timeOf(createdAt),
    $updatedAt: idOf(name) === undefined ? centuryBefore(at) : at,
  }
  const hasTraits = createdAt !== undefined || Object.keys(traits).length > 0
  return { id, ...(hasTraits && { properties }) }
}

const UNKNOWN_TIME = '1970-01-01T00:00:00.000Z'
const CENTURY_MS = 100 * 365 * 24 * 60 * 60 * 1_000
const centuryBefore = (time: string): string => new Date(Date.parse(time) - CENTURY_MS).toISOString()

const track = async (client: Client, event: Event, options: Options): Promise<unknown> => {
  const properties = objectOf(event.properties)
  const mapped = FEEDBACK.get(event.event)?.(properties)
  if (mapped === undefined) return undefined
  const feedback: FeedbackSubmission = {
    ...mapped,
    source: SOURCE,
    sourceId: mapped.sourceId ?? idOf(event.messageId),
    contactId: idOf(event.userId),
    isExternalContactId: true,
    createdAt: happenedAt(event),
    sourceData: { event: String(event.event), ...properties },
  }
  return client.createFeedback(feedback, options)
}
