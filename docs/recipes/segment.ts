import type { Client, FeedbackSubmission } from 'feedback-insights-client'
import { isSame, receive, signatureOf, timeOf } from './receiver.ts'

// Segment signs with HMAC-SHA1, in hexadecimal, in X-Signature; with batching on it signs the first event alone, so leave that off.
// RudderStack signs nothing: give its webhook the header `Authorization: Bearer SECRET`.

/** Whose ids `userId` are: those of your application, however an event came. */
const SOURCE = 'app'

type Values = Readonly<Record<string, unknown>>
/** https://segment.com/docs/connections/spec and https://www.rudderstack.com/docs/event-spec/standard-events */
type Event = {
  readonly type: string
  readonly messageId: string
  readonly userId?: string
  readonly groupId?: string
  readonly event?: string
  readonly traits?: Values
  readonly context?: { readonly traits?: Values }
  readonly properties?: Values
  readonly timestamp?: string
  readonly originalTimestamp?: string
}

/** Which events are feedback, and what of their properties says what. */
const FEEDBACK: Readonly<Record<string, (said: Values) => FeedbackSubmission>> = {
  'Product Reviewed': ({ review_id, review_body, rating }) => ({
    description: textOf(review_body) ?? '',
    rating: Number.isFinite(Number(rating)) ? Number(rating) : undefined,
    sourceId: textOf(review_id),
  }),
}

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

/** Who is not known to your application is left out. */
const identify = async (client: Client, { userId, traits, context }: Event, options: Options): Promise<unknown> => {
  if (userId === undefined) return undefined
  const { name, firstName, lastName, email, createdAt, company, ...rest } = traits ?? context?.traits ?? {}
  const companyId = textOf((company as { id?: unknown } | undefined)?.id)
  const properties = {
    ...rest,
    $name: textOf(name) ?? textOf([firstName, lastName].filter(Boolean).join(' ')),
    $email: textOf(email),
    $createdAt: timeOf(textOf(createdAt)),
  }
  const account = companyId === undefined ? undefined : { id: companyId }
  return client.identifyContact({ id: userId, source: SOURCE, properties, account }, options)
}

/** With a user, the user belongs to the group from then on. An account needs a domain; where there is none, the id is as unique. */
const group = async (client: Client, { userId, groupId, traits }: Event, options: Options): Promise<unknown> => {
  if (groupId === undefined) return undefined
  const { name, website, createdAt, ...rest } = traits ?? {}
  const properties = {
    ...rest,
    $name: textOf(name) ?? groupId,
    $domain: hostOf(textOf(website)) ?? groupId,
    $createdAt: timeOf(textOf(createdAt)),
  }
  const account = { id: groupId, ...(traits && { properties }) }
  return userId === undefined
    ? client.identifyAccount(account, options)
    : client.identifyContact({ id: userId, source: SOURCE, account }, options)
}

const track = async (client: Client, event: Event, options: Options): Promise<unknown> => {
  const said = FEEDBACK[event.event ?? '']?.(event.properties ?? {})
  if (said === undefined) return undefined
  const feedback: FeedbackSubmission = {
    ...said,
    source: SOURCE,
    contactId: event.userId,
    isExternalContactId: true,
    createdAt: timeOf(event.originalTimestamp ?? event.timestamp),
    sourceData: { event: event.event, ...event.properties },
  }
  return client.createFeedback(feedback, options)
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'number' ? String(value) : typeof value === 'string' && value !== '' ? value : undefined

const hostOf = (website: string | undefined): string | undefined =>
  website === undefined || !URL.canParse(website) ? undefined : new URL(website).hostname
