import type { Problem } from '../../contract/check-body.ts'
import { isLate } from '../../runtime/fault.ts'

/** The scope that an operation needs. */
export type Needs = 'submit' | 'read' | 'edit' | 'admin'

/** The reasons to refuse a request. */
export type Refusal =
  /** `needs`: the scope, on a path that names it. */
  | { refused: 'unauthenticated'; needs?: 'read' }
  | { refused: 'forbidden'; needs: Needs }
  | { refused: 'not-json' }
  | { refused: 'too-large'; maxBytes: number }
  | { refused: 'too-large-propagated'; maxBytes: number }
  | { refused: 'too-slow' }
  | { refused: 'invalid'; problems: readonly Problem[] }
  | { refused: 'origin' }
  | { refused: 'rate-limited'; unit?: 'calls'; most: number; windowSeconds: number; retryAfterSeconds: number }
  | { refused: 'no-such-contact' }
  | { refused: 'no-such-submission' }
  | { refused: 'no-such-record' }
  | { refused: 'position-expired' }
  | { refused: 'idempotency-key-of-other-body' }
  | { refused: 'not-found' }
  | { refused: 'wrong-method'; allow: string }
  /** A fault of the service. The client can quote the request id. */
  | { refused: 'unforeseen'; requestId: string }
  | Unavailable

export type Unavailable = {
  refused: 'unavailable'
  why:
    | 'redis'
    | 'redis-refuses'
    | 'redis-replicas'
    | 'redis-memory'
    | 'backlog'
    | 'workspace-log-full'
    | 'bodies-in-hand'
    | 'postgres'
    | 'postgres-late'
    | 'stores'
    | 'reads'
    | 'reads-at-once'
    | 'files-at-once'
}

export const isRefusal = (value: object): value is Refusal => 'refused' in value

/** A database that is slow, as on a busy machine, is no outage. */
export const whyPostgres = (error: unknown): 'postgres' | 'postgres-late' =>
  isLate(error) ? 'postgres-late' : 'postgres'

const RETRY_UNAVAILABLE_SECONDS = 5

/** Also the answers to an accepted purge or correction that turned out to match nothing. */
export const NO_SUCH_CONTACT = 'No contact matches the given id or email.'
export const NO_SUCH_RECORD = 'There is no such record in this workspace.'

/** The answer to a refused request. */
export const refusalResponse = (refusal: Refusal): Response => {
  const { status, body, headers } = refusalAnswer(refusal)
  return Response.json(body, { status, headers })
}

type RefusalAnswer = {
  status: number
  body: { error: string | readonly Problem[] }
  headers: Readonly<Record<string, string>>
}

/** The status, the JSON and the headers of a refusal, as the interface has them. */
export const refusalAnswer = (refusal: Refusal): RefusalAnswer => {
  if (isFixed(refusal)) return answer(...FIXED[refusal.refused])
  switch (refusal.refused) {
    case 'unauthenticated':
      return unauthenticated(refusal.needs)
    case 'forbidden':
      return answer(403, `The token does not permit this request: the scope ${scopesFor(refusal.needs)} is required.`)
    case 'too-large':
      return answer(413, bodyTooLarge(refusal.maxBytes))
    case 'too-large-propagated':
      return answer(
        413,
        `With its properties propagated to every message the conversation would exceed ${refusal.maxBytes} bytes. ` +
          'Send fewer messages at once or smaller properties.',
      )
    case 'too-slow':
      return answer(408, 'The body took too long to arrive. Send it again.', { Connection: 'close' })
    case 'invalid':
      return answer(400, refusal.problems)
    case 'rate-limited':
      return answer(
        429,
        `Rate limit exceeded: ${refusal.unit ?? 'submissions'} are limited to ${refusal.most} per ${windowText(refusal.windowSeconds)}. ` +
          `Retry later, in ${refusal.retryAfterSeconds} s. ${RATE_LIMITS[refusal.unit ?? 'submissions']}`,
        { 'Retry-After': String(refusal.retryAfterSeconds) },
      )
    case 'not-json':
      return answer(415, NOT_JSON, { 'Accept-Encoding': 'gzip' })
    case 'wrong-method':
      return answer(405, `This path takes ${refusal.allow} only.`, { Allow: refusal.allow })
    case 'unforeseen':
      return answer(500, `Something went wrong on our side. Quote request ${refusal.requestId} when you report it.`)
    case 'unavailable':
      return answer(503, UNAVAILABLE[refusal.why], { 'Retry-After': String(RETRY_UNAVAILABLE_SECONDS) })
  }
}

const unauthenticated = (needs: 'read' | undefined): RefusalAnswer =>
  answer(
    401,
    `A valid bearer token${needs ? ` of scope ${scopesFor(needs)}` : ''} is required: ` +
      'send Authorization: Bearer <ACCESS_TOKEN>.',
    { 'WWW-Authenticate': needs ? `Bearer scope="${needs}"` : 'Bearer' },
  )

// Each refusal for a limit names the setting that changes the limit.
const bodyTooLarge = (maxBytes: number): string =>
  `The body is too large: at most ${maxBytes} bytes, counted after decompression. ` +
  'The operators set the limit: MAX_BODY_BYTES, or MAX_CONVERSATION_BYTES for conversations. The limit of a batch is fixed.'
const RATE_LIMITS = {
  submissions: 'The operators set the limit: CONVERSATIONS_PER_MINUTE, or SUBMISSIONS_PER_MINUTE for other operations.',
  calls: 'The operators set the limit: AGENT_CALLS_PER_MINUTE.',
}

const NOT_JSON = 'The body must be JSON in UTF-8, plain or gzip: send Content-Type: application/json.'

/** Refusals with a fixed status and text. */
const FIXED = {
  origin: [
    403,
    'This path refuses requests with this Origin. The operators can permit the origin for programs: CORS_ORIGINS. Browsers let no page of another origin use this path.',
  ],
  'no-such-contact': [404, NO_SUCH_CONTACT],
  'no-such-submission': [404, 'There is no submission of this id in this workspace, or its receipt has expired.'],
  'no-such-record': [404, NO_SUCH_RECORD],
  'position-expired': [
    410,
    'Tombstones after this position have expired. Read the changes again from the beginning, without `after`.',
  ],
  'idempotency-key-of-other-body': [
    422,
    'This Idempotency-Key was used with another body. Use a new key for a new request.',
  ],
  'not-found': [404, 'There is nothing at this path.'],
} satisfies Record<string, [status: number, error: string]>

const isFixed = (refusal: Refusal): refusal is Extract<Refusal, { refused: keyof typeof FIXED }> =>
  Object.hasOwn(FIXED, refusal.refused)

const UNAVAILABLE: Readonly<Record<Unavailable['why'], string>> = {
  redis: 'The queue did not answer in time. Nothing was confirmed; retry later with the same ids.',
  'redis-refuses': 'The queue refuses writes at the moment. Nothing was confirmed; retry later with the same ids.',
  'redis-replicas':
    'Too few replicas have the submission yet (REDIS_REPLICAS_ACK). Nothing was confirmed; retry later with the same ids.',
  'redis-memory': 'The queue is nearly full (maxmemory of Redis). Nothing was accepted; retry later.',
  backlog: 'Too many submissions wait to be processed (MAX_BACKLOG). Nothing was accepted; retry later.',
  'workspace-log-full':
    'Too many submissions of this workspace wait to be processed (maxmemory of Redis). Nothing was accepted; retry later.',
  'bodies-in-hand':
    'This server is reading as many request bodies as it can hold (MAX_BYTES_IN_HAND). Nothing was accepted; retry later, with smaller bodies if possible.',
  stores: 'Redis or Postgres did not answer in time. Retry later.',
  reads: 'The database did not answer in time. Retry later.',
  'reads-at-once': 'Too many reads of this workspace are under way (READS_AT_ONCE). Retry later.',
  'files-at-once': 'Too many clients are loading this page. Retry later.',
  postgres: 'The database cannot be reached. Nothing was accepted; retry later.',
  'postgres-late': 'The database did not answer in time. Nothing was accepted; retry later.',
}

const scopesFor = (needs: Needs): string => (needs === 'admin' ? needs : `${needs} or admin`)

const windowText = (seconds: number): string => (seconds === 60 ? 'minute' : `${seconds} s`)

const answer = (
  status: number,
  error: string | readonly Problem[],
  headers: RefusalAnswer['headers'] = {},
): RefusalAnswer => ({ status, body: { error }, headers })
