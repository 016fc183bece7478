import * as v from 'valibot'
import { type FILTERS, feedbackFilters } from './feedback-filters.ts'
import { about, flag, list, object, text } from './fields.ts'
import type { JsonObject } from './json.ts'
import { asExpected } from './loose-form.ts'
import { RECORD_KINDS } from './record-schemas.ts'

const NO_WEBHOOK_URL = 'an address such as https://example.com/hooks, without a user name and password'
const MOST_URL_CHARACTERS = 2_000
const MS_PER_DAY = 86_400_000

const isWebhookUrl = (given: string): boolean => {
  if (given.length > MOST_URL_CHARACTERS || !URL.canParse(given)) return false
  const { protocol, username, password } = new URL(given)
  return ['http:', 'https:'].includes(protocol) && username + password === ''
}

export const NO_POSITION = 'a position of the change feed (a whole number), or 0'

/** A position is about the time of its change in microseconds. So one beyond tomorrow is a mistake. */
export const isPosition = (given: number): boolean =>
  Number.isInteger(given) && given >= 0 && given <= (Date.now() + MS_PER_DAY) * 1_000

/** `slack`: `{"text": …}`, as incoming webhooks of Slack take it. */
export const WEBHOOK_FORMATS = ['standard', 'slack'] as const
/** The kinds that can be a text of Slack. */
const KINDS_OF_SLACK: readonly unknown[] & readonly string[] = ['alert', 'digest']

const kind = v.picklist(RECORD_KINDS, `one of ${RECORD_KINDS.join(', ')}`)

/** The body of POST /webhooks. */
export const webhookSettings = object(
  {
    url: about(v.pipe(text, v.check(isWebhookUrl, NO_WEBHOOK_URL)), 'The address that the service posts changes to.'),
    kinds: about(
      v.nullish(
        v.pipe(
          list(kind, RECORD_KINDS.length, 'kinds'),
          v.check((kinds) => kinds.length > 0, 'at least one kind'),
        ),
      ),
      'The kinds of records whose changes are posted. Absent: all; with a `filter`, feedback.',
    ),
    filter: about(
      v.nullish(feedbackFilters),
      'Posts changed feedback only if it matches, as in `GET /feedbacks`. Tombstones are posted in any case.',
    ),
    holdUntilTagged: about(
      v.nullish(flag),
      'Whether feedback waits until the tagger has read it, for a minute at most, so that it comes with tags, kind and theme.',
    ),
    format: about(
      v.nullish(v.picklist(WEBHOOK_FORMATS, WEBHOOK_FORMATS.join(' or '))),
      'The form of the messages. `slack`: a text for an incoming webhook of Slack, for alerts and digests alone.',
    ),
    from: about(
      v.nullish(v.pipe(v.number('a number'), v.check(isPosition, NO_POSITION))),
      'Begins after this position of the change feed; with 0, with all records. Absent: with the next change.',
    ),
  },
  {
    description: 'A webhook, which receives the changes of the workspace.',
    check: ({ filter, kinds, format }) => [
      ...(filter != null && Array.isArray(kinds) && !kinds.includes('feedback')
        ? [{ path: ['kinds'], expected: 'with feedback among them, or absent, since a filter is for feedback' }]
        : []),
      ...(format === 'slack' && Array.isArray(kinds) && !kinds.every((each) => KINDS_OF_SLACK.includes(each))
        ? [{ path: ['kinds'], expected: 'alert or digest, or absent, with the format slack' }]
        : []),
      ...(format === 'slack' && filter != null
        ? [{ path: ['filter'], expected: 'absent with the format slack, since a filter is for feedback' }]
        : []),
    ],
  },
)

/** What a webhook posts. `filter`: as it was given. */
export type WebhookScope = {
  kinds: readonly string[] | null
  filter: GivenFilter | null
  holdUntilTagged: boolean
  format: (typeof WEBHOOK_FORMATS)[number]
}
export type GivenFilter = { [Name in keyof typeof FILTERS]?: unknown }

/** A body with its filter in the usual form. */
export const withUsualFilter = (body: JsonObject): JsonObject =>
  body['filter'] == null ? body : { ...body, filter: asExpected(feedbackFilters, body['filter']) as JsonObject }

/** `given`: the body that is valid. */
export const scopeOf = (
  { kinds, holdUntilTagged, format }: v.InferOutput<typeof webhookSettings>,
  given: JsonObject,
): WebhookScope => {
  const filter = (given['filter'] ?? null) as GivenFilter | null
  return {
    kinds: kinds == null ? usualKinds({ isFiltered: filter !== null, format }) : [...new Set(kinds)],
    filter,
    holdUntilTagged: holdUntilTagged === true,
    format: format ?? 'standard',
  }
}

const usualKinds = ({ isFiltered, format }: { isFiltered: boolean; format: unknown }): readonly string[] | null => {
  if (format === 'slack') return KINDS_OF_SLACK
  return isFiltered ? ['feedback'] : null
}
