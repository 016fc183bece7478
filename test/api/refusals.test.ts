import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { READ_ROUTES } from '../../api/reads/read-routes.ts'
import { ReplyError } from 'ioredis'
import type { Problem } from '../../contract/check-body.ts'
import { withinTime } from '../../runtime/within-time.ts'
import { SHORT_BODY } from '../end-to-end/body-with.ts'
import type { OperationPath } from '../end-to-end/interface-table.ts'
import { appWithoutStores, EMPTY_LOG, emptyReads, SUBMISSION } from '../support/app-without-stores.ts'

type Given = NonNullable<Parameters<typeof appWithoutStores>[0]>
type Sent = { method?: string; path?: string; token?: string | null; body?: string; headers?: Record<string, string> }
type Expected = readonly [status: number, error: string | Problem[], headers?: Readonly<Record<string, string>>]

const OPERATIONS = Object.keys(SHORT_BODY) as OperationPath[]
const [CONVERSATION, PURGE] = ['/conversations', '/contacts/purge'] as const
const KIB = 1_024
const mostBytes = (operation: string): number => (operation === CONVERSATION ? 5 * KIB * KIB : 512 * KIB)
const shortBody = (operation: OperationPath, more: object = {}): string =>
  JSON.stringify({ ...SHORT_BODY[operation]('x'), ...more })

const UNAUTHENTICATED: Expected = [
  401,
  'A valid bearer token is required: send Authorization: Bearer <ACCESS_TOKEN>.',
  { 'WWW-Authenticate': 'Bearer' },
]
const forbidden = (needs: string): Expected => [
  403,
  `The token does not permit this request: the scope ${needs === 'admin' ? needs : `${needs} or admin`} is required.`,
]
const NOT_JSON: Expected = [
  415,
  'The body must be JSON in UTF-8, plain or gzip: send Content-Type: application/json.',
  { 'Accept-Encoding': 'gzip' },
]
const tooLarge = (bytes: number): Expected => [
  413,
  `The body is too large: at most ${bytes} bytes, counted after decompression. The operators set the limit: MAX_BODY_BYTES, or MAX_CONVERSATION_BYTES for conversations. The limit of a batch is fixed.`,
]
const invalid = (message: string, path = ''): Expected => [400, [{ message, path }]]
const NOT_ACCEPTED = 'Nothing was accepted; retry later.'
const NOT_CONFIRMED = 'Nothing was confirmed; retry later with the same ids.'
const unavailable = (error: string): Expected => [503, error, { 'Retry-After': '5' }]
const wrongMethod = (allow: string): Expected => [405, `This path takes ${allow} only.`, { Allow: allow }]
const NOTHING: Expected = [404, 'There is nothing at this path.']
const NO_CONTACT: Expected = [404, 'No contact matches the given id or email.']
const NO_RECEIPT: Expected = [404, 'There is no submission of this id in this workspace, or its receipt has expired.']

const send = (
  { method = 'POST', path = '/api/v1/feedbacks', token = 'admin', body, headers = {} }: Sent,
  given?: Given,
) =>
  appWithoutStores(given).handle(
    new Request(`http://x${path}`, {
      method,
      headers: {
        'Content-Type': 'application/json',
        ...(token !== null && { Authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'Content-Length': String(new TextEncoder().encode(body).byteLength) }),
        ...headers,
      },
      ...(body !== undefined && { body }),
    }),
  )

/** Compares the status, the whole body and all significant headers. */
const assertRefused = async (sent: Sent, [status, error, headers = {}]: Expected, given?: Given): Promise<void> => {
  const response = await send(sent, given)
  const named = ['WWW-Authenticate', 'Retry-After', 'Allow', 'Accept-Encoding', 'Submission-Id'].flatMap((name) => {
    const value = response.headers.get(name)
    return value === null ? [] : [[name, value] as const]
  })
  assert.deepEqual([response.status, await response.json()], [status, { error }], JSON.stringify(sent).slice(0, 200))
  assert.deepEqual(Object.fromEntries(named), headers)
  assert.match(response.headers.get('Content-Type') ?? '', /^application\/json/)
  assert.ok(response.headers.get('X-Request-Id'))
}

describe('every operation refuses', () => {
  for (const operation of OPERATIONS) {
    const path = `/api/v1${operation}`
    const refused = (sent: Sent, expected: Expected) => assertRefused({ path, ...sent }, expected)
    const large = `{"id": "${'x'.repeat(mostBytes(operation))}`

    it(`${operation}: a request for its first fault, in the order of the steps`, async () => {
      // Each request also has the faults of all later steps.
      const text = { 'Content-Type': 'text/plain' }
      await refused({ token: null, body: large, headers: text }, UNAUTHENTICATED)
      await refused({ token: 'other', body: large, headers: text }, UNAUTHENTICATED)
      const needs = operation === PURGE ? 'admin' : 'submit'
      await refused({ token: 'operator', body: large, headers: text }, forbidden(needs))
      if (operation === PURGE) await refused({ token: 'submit', body: large, headers: text }, forbidden(needs))
      await refused({ body: large, headers: text }, NOT_JSON)
      await refused({ body: large }, tooLarge(mostBytes(operation)))
      await refused({ body: '{' }, invalid('The body must be valid JSON'))
      for (const value of [null, 5, 'text', true, [], [SHORT_BODY[operation]('x')]]) {
        await refused({ body: JSON.stringify(value) }, invalid('The body must be an object'))
      }
    })

    it(`${operation}: a body with one byte too many, but not a smaller body`, async () => {
      const fill = mostBytes(operation) - shortBody(operation, { unknown: '' }).length
      const response = await send({ path, body: shortBody(operation, { unknown: 'x'.repeat(fill) }) })
      assert.ok(response.status < 300, await response.text())
      await refused({ body: shortBody(operation, { unknown: 'x'.repeat(fill + 1) }) }, tooLarge(mostBytes(operation)))
    })

    it(`${operation}: a body of 65 levels, but not one of 64`, async () => {
      const nested = (levels: number): string => '{"a":'.repeat(levels - 1) + '{}' + '}'.repeat(levels - 1)
      const body = (levels: number): string => shortBody(operation).replace(/}$/, `,"unknown":${nested(levels - 1)}}`)
      assert.ok((await send({ path, body: body(64) })).status < 300)
      const [problem] = ((await (await send({ path, body: body(65) })).json()) as { error: Problem[] }).error
      assert.equal(problem?.message, 'The body must be nested at most 64 levels deep')
    })

    it(`${operation}: a method that its path does not have`, async () => {
      const isRead = READ_ROUTES.some((route) => route.path === operation)
      for (const method of [...(isRead ? [] : ['GET']), 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        await refused({ method }, wrongMethod(isRead ? 'GET, POST' : 'POST'))
      }
    })
  }
})

const admit = (outcome: 'rate-limited' | 'full' | 'other-body' | 'unreplicated'): Given => ({
  intake: {
    admit: async () => ({ outcome, bucket: { remaining: 0, resetMs: 1_500 }, ...EMPTY_LOG }),
    limitOf: () => ({ tokens: 10, windowMs: 60_000 }),
  },
})
const fails = async (error: Error): Promise<never> => {
  throw error
}
const replyError = (message: string): Error => new (ReplyError as new (message: string) => Error)(message)
const LIMITED: Expected = [
  429,
  'Rate limit exceeded: submissions are limited to 10 per minute. Retry later, in 2 s. The operators set the limit: CONVERSATIONS_PER_MINUTE, or SUBMISSIONS_PER_MINUTE for other operations.',
  { 'Retry-After': '2' },
]
const QUEUE_SILENT = unavailable(`The queue did not answer in time. ${NOT_CONFIRMED}`)
const DATABASE_AWAY = unavailable(`The database cannot be reached. ${NOT_ACCEPTED}`)
const purge: Sent = { path: `/api/v1${PURGE}`, body: '{"id":"x"}' }
const list: Sent = { method: 'GET', path: '/api/v1/feedbacks' }
const receipt = (id: string): Sent => ({ method: 'GET', path: `/api/v1/submissions/${id}` })

/** A conversation of 41 MB if its properties are propagated to its messages. */
const propagating = (propagatePropertiesToMessages: boolean): string => {
  const message = { incoming: true, content: '', createdAt: '2026-01-01T00:00:00Z' }
  const messages = Array.from({ length: 1_000 }, (_, index) => ({ ...message, id: `m${index}` }))
  const properties = { note: 'x'.repeat(40 * KIB) }
  return shortBody(CONVERSATION, { messages, properties, propagatePropertiesToMessages })
}

/** Further reasons to refuse a request. */
const SITUATIONS: Readonly<Record<string, readonly [given: Given, expected: Expected, sent?: Sent]>> = {
  'the limit is used up': [admit('rate-limited'), LIMITED],
  'the bucket is known to be empty': [
    {
      intake: {
        ...admit('full').intake,
        emptyBuckets: { find: () => ({ remaining: 0, resetMs: 1_500 }), remember: () => {} },
      },
    },
    LIMITED,
    { body: 'not parsed' },
  ],
  'the idempotency key was used with another body': [
    admit('other-body'),
    [422, 'This Idempotency-Key was used with another body. Use a new key for a new request.'],
  ],
  'too many submissions of the workspace wait': [
    admit('full'),
    unavailable(`Too many submissions of this workspace wait to be processed (maxmemory of Redis). ${NOT_ACCEPTED}`),
  ],
  'too many submissions of all workspaces wait': [
    {
      intake: { ...admit('full').intake, pressure: { current: () => 'backlog', bytesLeft: () => 0, added: () => {} } },
    },
    unavailable(`Too many submissions wait to be processed (MAX_BACKLOG). ${NOT_ACCEPTED}`),
  ],
  'too few replicas have the submission': [
    admit('unreplicated'),
    unavailable(`Too few replicas have the submission yet (REDIS_REPLICAS_ACK). ${NOT_CONFIRMED}`),
  ],
  'Redis does not answer': [{ intake: { admit: () => fails(new Error('timed out')) } }, QUEUE_SILENT],
  'Redis is full': [
    { intake: { admit: () => fails(replyError("OOM command not allowed when used memory > 'maxmemory'.")) } },
    unavailable(`The queue is nearly full (maxmemory of Redis). ${NOT_ACCEPTED}`),
  ],
  'Redis refuses writes': [
    { intake: { admit: () => fails(replyError('READONLY')) } },
    unavailable(`The queue refuses writes at the moment. ${NOT_CONFIRMED}`),
  ],
  'the process has as many bodies in hand as it may': [
    {
      intake: {
        bodies: {
          whenBytesFit: async () => undefined,
          oneLargeAtATime: (_, work) => work(),
          takeAnswer: () => assert.fail(),
          figures: () => assert.fail(),
        },
      },
    },
    unavailable(
      'This server is reading as many request bodies as it can hold (MAX_BYTES_IN_HAND). Nothing was accepted; retry later, with smaller bodies if possible.',
    ),
  ],
  'Postgres is away, so that the token cannot be looked up': [
    { intake: { authenticate: async () => ({ refused: 'unavailable', why: 'postgres' }) } },
    DATABASE_AWAY,
  ],
  'bytes follow the body': [
    { intake: { canStillAnswer: async () => false } },
    invalid('The body must end the request: send nothing after it'),
  ],
  'the request announces a trailer that the runtime cannot read': [
    { readsTrailers: false },
    invalid('A body with trailer fields cannot be read here: send it without them', 'Trailer'),
    { headers: { Trailer: 'X-Sum' } },
  ],
  'the purge matches nothing': [{ intake: { canPurgeMatch: async () => false } }, NO_CONTACT, purge],
  'the purge turned out to match nothing': [
    { intake: { awaitProgress: async () => ({ id: SUBMISSION, state: 'applied', isUnmatched: true }) } },
    [NO_CONTACT[0], NO_CONTACT[1], { 'Submission-Id': SUBMISSION }],
    purge,
  ],
  'the purge takes too long to look up': [
    { intake: { canPurgeMatch: () => withinTime(new Promise(() => {}), 1) } },
    unavailable(`The database did not answer in time. ${NOT_ACCEPTED}`),
    purge,
  ],
  'a purge is invalid, even if it would match nothing': [
    { intake: { canPurgeMatch: async () => false } },
    invalid('email must be a string', 'email'),
    { ...purge, body: '{"id":"x","email":5}' },
  ],
  'a conversation would exceed 32 MiB when propagated': [
    {},
    [
      413,
      'With its properties propagated to every message the conversation would exceed 33554432 bytes. ' +
        'Send fewer messages at once or smaller properties.',
    ],
    { path: `/api/v1${CONVERSATION}`, body: propagating(true) },
  ],
  'the database does not answer a read': [
    { reads: { ...emptyReads, readList: () => fails(new Error('away')) } },
    unavailable('The database did not answer in time. Retry later.'),
    list,
  ],
  'there is no such submission': [{}, NO_RECEIPT, receipt(SUBMISSION)],
  'the id of a submission is malformed': [{}, NO_RECEIPT, receipt('x')],
}

describe('a request is refused when', () => {
  for (const [what, [given, expected, sent = {}]] of Object.entries(SITUATIONS)) {
    it(what, () =>
      assertRefused({ ...(sent.method !== 'GET' && { body: '{"description":"x"}' }), ...sent }, expected, given),
    )
  }

  it('an unforeseen fault happens: the answer has only the id of the request', async () => {
    const fault = (): Promise<never> => fails(new TypeError('sEcReT'))
    const headers = { 'X-Request-Id': 'abc' }
    const report = 'Something went wrong on our side. Quote request abc when you report it.'
    await assertRefused({ body: '{"description":"x"}', headers }, [500, report], { intake: { admit: fault } })
    await assertRefused({ ...list, headers }, [500, report], { reads: { ...emptyReads, readList: fault } })
  })

  it('its path does not exist, with any method', async () => {
    const paths = ['/nope', '/api/v1', '/api/v1/nope', '/api/v2/feedbacks', '/api/v1/feedbacks/1/2', '/%', '/a%ffb']
    for (const path of paths) {
      for (const method of ['GET', 'POST', 'DELETE']) await assertRefused({ path, method, token: null }, NOTHING)
    }
  })

  it('its method is POST, at a path that has GET only', async () => {
    for (const path of ['/', '/healthz', '/readyz', '/metrics', '/openapi.json', '/docs', '/docs/', '/docs/start.js']) {
      await assertRefused({ path, body: '{}' }, wrongMethod('GET'))
    }
  })
})

describe('a request is not refused', () => {
  it('when properties are large and not propagated', async () => {
    assert.equal((await send({ path: `/api/v1${CONVERSATION}`, body: propagating(false) })).status, 200)
  })

  it('when its idempotency key is known: a repeated purge gets its first answer, although no contact matches any more', async () => {
    const former = { submissionId: SUBMISSION, number: 1, bucket: undefined, ...EMPTY_LOG }
    const response = await send(
      { ...purge, headers: { 'Idempotency-Key': 'key' } },
      {
        intake: { admit: async () => ({ outcome: 'repeated', ...former }), canPurgeMatch: async () => false },
      },
    )
    assert.deepEqual([response.status, response.headers.get('Submission-Id')], [200, SUBMISSION])
  })
})
