import type { JsonObject, JsonValue } from '../../contract/json.ts'
import {
  MAX_BATCH_BODY_BYTES,
  MAX_BODY_BYTES,
  MAX_CONVERSATION_BODY_BYTES,
  MAX_PROPAGATED_BYTES,
  MAX_REPORTED_PROBLEMS,
} from '../../contract/limits.ts'
import { type Refusal, refusalResponse, type Unavailable } from '../http/refusal.ts'
import { headersOf, RESPONSE_HEADERS, type ResponseHeader } from './headers.ts'
import type { DescribedAnswer, OpenApiPart } from './openapi-part.ts'

const invalid = (message: string, path: string) => ({ message, path })
const unavailable = (why: Unavailable['why']): Refusal => ({ refused: 'unavailable', why })
const tooLarge = (maxBytes: number): Refusal => ({ refused: 'too-large', maxBytes })

/** Statuses, headers and bodies come from `refusalResponse`, which answers real requests too. */
const REFUSAL_ANSWERS = {
  Invalid: {
    description:
      'The body, a parameter of the query, or one of the headers `Idempotency-Key`, `Host` and (on Bun) `Trailer`, is ' +
      `not valid. At most ${MAX_REPORTED_PROBLEMS} problems are listed.`,
    examples: {
      'invalid members': {
        refused: 'invalid',
        problems: [
          invalid('id is required', 'id'),
          invalid('rating must be a number', 'rating'),
          invalid(
            'createdAt must be an existing date-time of RFC 3339 with an offset, such as 2026-01-31T09:30:00Z',
            'createdAt',
          ),
        ],
      },
      'an invalid header': {
        refused: 'invalid',
        problems: [invalid('The header Idempotency-Key must be 1 to 255 visible ASCII characters', 'Idempotency-Key')],
      },
      'an invalid parameter': {
        refused: 'invalid',
        problems: [invalid('limit must be a whole number from 1 to 500', 'limit')],
      },
    },
    also: ['Preference-Applied', 'RateLimit-Policy'],
  },
  Unauthenticated: {
    description: 'No token, or a token that is malformed, unknown, expired or revoked.',
    examples: { 'no valid token': { refused: 'unauthenticated' } },
  },
  MayNotSubmit: {
    description: 'The token is valid, but lacks the scope for submissions.',
    examples: { 'another scope': { refused: 'forbidden', needs: 'submit' } },
  },
  MayNotRead: {
    description: 'The token is valid, but lacks the scope for reading.',
    examples: { 'another scope': { refused: 'forbidden', needs: 'read' } },
  },
  MayNotEdit: {
    description: 'The token is valid, but lacks the scope for corrections. Checked before the body.',
    examples: { 'another scope': { refused: 'forbidden', needs: 'edit' } },
  },
  NoAdmin: {
    description: 'The token is valid, but not an admin token. Checked before the body.',
    examples: { 'no admin': { refused: 'forbidden', needs: 'admin' } },
  },
  NoSuchContact: {
    description: 'No contact matches, nor any other record that the purge would remove.',
    examples: { 'no match': { refused: 'no-such-contact' } },
    also: ['Submission-Id', 'Submission-State', 'Preference-Applied', 'RateLimit-Policy', 'RateLimit'],
  },
  NoSuchSubmission: {
    description: 'The workspace has no submission with this id, or its receipt has expired.',
    examples: { 'no receipt': { refused: 'no-such-submission' } },
  },
  NoSuchRecord: {
    description: 'The workspace has no such record with this id.',
    examples: { 'no record': { refused: 'no-such-record' } },
  },
  NoRecordToChange: {
    description: 'The workspace has no such record, neither stored nor queued.',
    examples: { 'no record': { refused: 'no-such-record' } },
    also: ['Submission-Id', 'Submission-State', 'Preference-Applied', 'RateLimit-Policy', 'RateLimit'],
  },
  PositionExpired: {
    description: 'Tombstones after this position have expired, so the feed could miss removed records.',
    examples: { expired: { refused: 'position-expired' } },
  },
  WrongMethod: {
    description: 'The path does not take this method.',
    examples: {
      'POST only': { refused: 'wrong-method', allow: 'POST' },
      'GET and POST': { refused: 'wrong-method', allow: 'GET, POST' },
      'GET, PATCH and DELETE': { refused: 'wrong-method', allow: 'GET, PATCH, DELETE' },
    },
  },
  OnlyGet: {
    description: 'The path does not take this method.',
    examples: { 'GET only': { refused: 'wrong-method', allow: 'GET' } },
  },
  OnlyPut: {
    description: 'The path does not take this method.',
    examples: { 'PUT only': { refused: 'wrong-method', allow: 'PUT' } },
  },
  TooSlow: {
    description: 'The body did not arrive in time. The connection is closed.',
    examples: { 'too slow': { refused: 'too-slow' } },
    also: ['Preference-Applied', 'RateLimit-Policy'],
  },
  TooLarge: {
    description: 'The body is larger than the limit, which is counted after decompression.',
    examples: { 'too large': tooLarge(MAX_BODY_BYTES) },
    also: ['Preference-Applied', 'RateLimit-Policy'],
  },
  ConversationTooLarge: {
    description:
      'The body is larger than the limit, which is counted after decompression. Or the conversation with its propagated ' +
      `properties would be larger than ${MAX_PROPAGATED_BYTES / (1024 * 1024)} MiB.`,
    examples: {
      'too large': tooLarge(MAX_CONVERSATION_BODY_BYTES),
      'too large once propagated': { refused: 'too-large-propagated', maxBytes: MAX_PROPAGATED_BYTES },
    },
    also: ['Preference-Applied', 'RateLimit-Policy'],
  },
  BatchTooLarge: {
    description: 'The batch is larger than the limit, which is counted after decompression. Send it in parts.',
    examples: { 'too large': tooLarge(MAX_BATCH_BODY_BYTES) },
  },
  NotJson: {
    description: 'The body is not `application/json` in UTF-8, or has a content coding other than gzip.',
    examples: { 'another type': { refused: 'not-json' } },
    also: ['Preference-Applied', 'RateLimit-Policy'],
  },
  KeyOfOtherBody: {
    description: 'The `Idempotency-Key` was used with another body within the last 24 hours.',
    examples: { 'another body': { refused: 'idempotency-key-of-other-body' } },
    also: ['Preference-Applied', 'RateLimit-Policy', 'RateLimit'],
  },
  RateLimited: {
    description: 'The rate limit is exceeded. A refused request does not count against the limit.',
    examples: {
      'limit exceeded': { refused: 'rate-limited', most: 10, windowSeconds: 60, retryAfterSeconds: 37 },
    },
    also: ['Preference-Applied', 'RateLimit-Policy', 'RateLimit'],
  },
  Unavailable: {
    description:
      'The service cannot accept the submission at the moment. Nothing is confirmed. Repeating the request with the ' +
      'same `sourceId`, `id` or `Idempotency-Key` is harmless.',
    examples: {
      'queue away': unavailable('redis'),
      'queue refuses writes': unavailable('redis-refuses'),
      'queue lacks replicas': unavailable('redis-replicas'),
      'queue nearly full': unavailable('redis-memory'),
      'too many submissions waiting': unavailable('backlog'),
      'too many submissions of this workspace waiting': unavailable('workspace-log-full'),
      'too many bytes in hand': unavailable('bodies-in-hand'),
      'database away': unavailable('postgres'),
      'database slow': unavailable('postgres-late'),
    },
    also: ['Preference-Applied', 'RateLimit-Policy', 'RateLimit'],
  },
  CannotRead: {
    description: 'The database does not answer in time, or too many reads of the workspace are under way.',
    examples: {
      'database slow or away': unavailable('reads'),
      'token not looked up': unavailable('postgres'),
      'too many reads': unavailable('reads-at-once'),
    },
  },
  CannotSet: {
    description:
      'The database does not answer in time, or too much is under way. A change may have been made: read the settings before you repeat it.',
    examples: {
      'database slow or away': unavailable('reads'),
      'token not looked up': unavailable('postgres'),
      'too many reads': unavailable('reads-at-once'),
      'too many bytes in hand': unavailable('bodies-in-hand'),
    },
    also: ['Preference-Applied'],
  },
  CannotLookUp: {
    description: 'Redis or Postgres does not answer in time.',
    examples: {
      'token not looked up': unavailable('postgres'),
      'queue or database slow or away': unavailable('stores'),
    },
  },
  TokenNotLookedUp: {
    description: 'Postgres, which has the tokens, does not answer in time.',
    examples: { 'token not looked up': unavailable('postgres') },
  },
  Unforeseen: {
    description: 'An unforeseen fault of the service. Quote the request id when you report it.',
    examples: { unforeseen: { refused: 'unforeseen', requestId: '3f0c8b1e-7d52-4c0a-9a43-5e1f6b2d8c90' } },
  },
} as const satisfies Readonly<Record<string, DescribedAnswer>>
export type RefusalAnswerName = keyof typeof REFUSAL_ANSWERS

/** The answers to refused requests, as components of the document. `more`: those of capabilities. */
export const refusalComponents = async (more: OpenApiPart['refusals']): Promise<JsonObject> => {
  const components = Object.entries<DescribedAnswer>({ ...REFUSAL_ANSWERS, ...more }).map(async ([name, described]) => [
    name,
    await component(described),
  ])
  return Object.fromEntries(await Promise.all(components)) as JsonObject
}

const component = async ({ description, examples, also = [] }: DescribedAnswer): Promise<JsonObject> => {
  const responses = Object.entries(examples).map(([name, refusal]) => [name, refusalResponse(refusal)] as const)
  const sent = headerNames.filter((header) => responses.some(([, { headers }]) => headers.has(header)))
  const schema = responses.some(([, { status }]) => status === 400) ? 'ValidationError' : 'Error'
  const values = responses.map(async ([name, response]) => [
    name.replaceAll(' ', '-'),
    { summary: name, value: (await response.json()) as JsonValue },
  ])
  return {
    description,
    headers: headersOf([...sent, ...also]),
    content: {
      'application/json': {
        schema: { $ref: `#/components/schemas/${schema}` },
        examples: Object.fromEntries(await Promise.all(values)) as JsonObject,
      },
    },
  }
}

const headerNames = Object.keys(RESPONSE_HEADERS) as ResponseHeader[]

/** References to components with these names, as the `responses` of an operation. */
export const refusalsOf = (names: readonly RefusalAnswerName[]): JsonObject =>
  Object.fromEntries(names.map((name) => [String(statusOf(name)), { $ref: `#/components/responses/${name}` }]))

const statusOf = (name: RefusalAnswerName): number => {
  const [first] = Object.values<Refusal>(REFUSAL_ANSWERS[name].examples)
  return refusalResponse(first!).status
}
