import { Buffer } from 'node:buffer'
import { gzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { operations } from '../api/openapi-document.ts'
import { hostileText, textOf } from './fuzz-json.ts'

export type Operation = (typeof operations)[number]
export type Tokens = { readonly access: string; readonly admin: string; readonly operator: string }
export type FuzzRequest = {
  /** Of the operation; undefined where the target is at no documented path, or not surely at it. */
  readonly path: string | undefined
  /** Statuses that are as good, since the target may lead elsewhere. */
  readonly also: readonly number[]
  readonly method: string
  readonly target: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Uint8Array
  readonly chunked: boolean
}

type Coded = { readonly body: Buffer; readonly encoding?: string }

const METHODS = ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'PURGE', 'QUERY']
const NOWHERE = [
  '/',
  '//',
  '/api',
  '/api/v1',
  '/api/v1/',
  '/api/v2/feedbacks',
  '/api/v1/%66eedbacks',
  '/%ff%00',
  '/__proto__',
  '/api/v1/contacts',
]
const BOARD = [
  '/admin/queues',
  '/admin/queues/api/queues',
  '/admin/queues/api/queues/feedback/x',
  '/admin/queues/%ff',
  '/admin/queues/static/%2e%2e/x',
  '/admin/queues/queue/%00',
]
const IDS = ['x', '%ff', '%', '%00', '__proto__', "'", '00000000-0000-0000-0000-000000000000', 'x'.repeat(3_000)]
const BROKEN_BYTES = [
  [0xff],
  [0xc0, 0x80],
  [0xed, 0xa0, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0x00],
  [0xef, 0xbb, 0xbf],
  [0x22],
  [0x5c],
]
const LARGE = { feedback: 600 * 1_024, inflated: 8 * 1_024 * 1_024 }

const or = <T>(weight: number, usual: fc.Arbitrary<T>, other: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: other })

/** Cut off, or with bytes in it that no text has. */
const broken = (body: Buffer): fc.Arbitrary<Buffer> =>
  fc
    .record({ at: fc.nat({ max: body.length }), bytes: fc.constantFrom([], ...BROKEN_BYTES) })
    .map(({ at, bytes }) =>
      bytes.length === 0
        ? body.subarray(0, at)
        : Buffer.concat([body.subarray(0, at), Buffer.from(bytes), body.subarray(at)]),
    )

/** Made only when one is chosen, since compressing takes longer than all the rest. */
const OTHER_ENCODINGS: readonly ((body: Buffer) => Coded)[] = [
  (body) => ({ body, encoding: 'gzip' }),
  (body) => ({ body, encoding: 'identity' }),
  (body) => ({ body, encoding: 'br' }),
  (body) => ({ body, encoding: 'gzip, gzip' }),
  (body) => ({ body: gzipSync(body) }),
  (body) => ({ body: Buffer.concat([gzipSync(body), gzipSync(body)]), encoding: 'gzip' }),
  (body) => ({ body: Buffer.concat([gzipSync(body), Buffer.from('x')]), encoding: 'gzip' }),
  (body) => ({ body: gzipSync(gzipSync(body)), encoding: 'gzip' }),
]
const inOtherEncodings = (body: Buffer): fc.Arbitrary<Coded> =>
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc
        .constantFrom('gzip', 'GZIP', ' gzip ')
        .map((encoding): Coded => ({ body: gzipSync(body), encoding })),
    },
    { weight: 2, arbitrary: broken(body).map((bytes): Coded => ({ body: gzipSync(bytes), encoding: 'gzip' })) },
    {
      weight: 2,
      arbitrary: fc
        .nat({ max: 40 })
        .map((kept): Coded => ({ body: gzipSync(body).subarray(0, kept), encoding: 'gzip' })),
    },
    { weight: 6, arbitrary: fc.constantFrom(...OTHER_ENCODINGS).map((encode) => encode(body)) },
  )

const tooLarge = fc.constantFrom<Coded>(
  { body: Buffer.from(JSON.stringify({ description: 'x'.repeat(LARGE.feedback) })) },
  { body: gzipSync(Buffer.alloc(LARGE.inflated, ' ')), encoding: 'gzip' },
)

const bodiesOf = ({ operation }: Operation): fc.Arbitrary<Coded> => {
  const schema = operation.requestBody?.content['application/json']?.schema
  const text = schema
    ? fc.oneof(
        { weight: 5, arbitrary: textOf(schema, false) },
        { weight: 4, arbitrary: textOf(schema, true) },
        { weight: 1, arbitrary: hostileText },
      )
    : or(3, fc.constant(''), hostileText)
  const bytes = text.chain((made) => {
    const body = Buffer.from(made)
    return or(15, fc.constant(body), broken(body))
  })
  const coded = bytes.chain((body) => or<Coded>(6, fc.constant({ body }), inOtherEncodings(body)))
  return or(400, coded, tooLarge)
}

const bearer = (token: string): string => `Bearer ${token}`
const authorizations = (tokens: Tokens, { path, method }: Operation): fc.Arbitrary<string | undefined> => {
  const { access, admin, operator } = tokens
  const fitting = path.endsWith('/purge') ? [admin] : method === 'GET' ? [access, admin, operator] : [access, admin]
  return or<string | undefined>(
    25,
    or(30, fc.constantFrom(...fitting), fc.constantFrom(access, admin, operator)).map(bearer),
    fc.oneof(
      fc.constantFrom(
        undefined,
        '',
        'Bearer',
        `bearer  ${access}`,
        bearer(`${access}x`),
        `Basic ${access}`,
        bearer('a, b'),
      ),
      fc.constant(`Basic ${Buffer.from(`x:${admin}`).toString('base64')}`),
      fc.string({ unit: fc.constantFrom(...'aZ09 ,;=."\\\u00ff'), maxLength: 40 }),
    ),
  )
}

const TYPES = [
  'application/json; charset=utf-8',
  'APPLICATION/JSON',
  'application/json;charset="utf-8"',
  'application/json;;',
  'text/plain',
  'application/json; charset=utf-16',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/json, text/plain',
  '',
  '*/*',
]
const latin1 = fc.string({
  unit: fc
    .integer({ min: 0x21, max: 0xff })
    .filter((code) => code !== 0x7f)
    .map((code) => String.fromCharCode(code)),
  minLength: 1,
  maxLength: 60,
})

/** Each is sent by about one request in twelve. */
const EXTRA: readonly (readonly [name: string, values: fc.Arbitrary<string>])[] = [
  [
    'Idempotency-Key',
    fc.oneof(fc.integer({ min: 0, max: 3_000 }).map(String), fc.constantFrom('a b', '', 'x'.repeat(256)), latin1),
  ],
  [
    'Prefer',
    fc.oneof(
      fc.constantFrom(
        'wait=0',
        'wait=1',
        'WAIT = "0"',
        'wait=-1',
        'wait=x',
        'respond-async, wait=0',
        'wait=00000000000',
      ),
      latin1,
    ),
  ],
  ['X-Request-Id', latin1],
  ['Accept', fc.constantFrom('text/html', 'application/xml;q=1', '*/*;q=0', '')],
  ['Expect', fc.constant('100-continue')],
  ['Origin', fc.constantFrom('null', 'https://example.com', 'x')],
  ['X-HTTP-Method-Override', fc.constantFrom('DELETE', 'GET')],
  ['X-Forwarded-For', latin1],
  ['X-Forwarded-Host', latin1],
  ['X-Forwarded-Proto', latin1],
  ['Forwarded', latin1],
  ['Cookie', latin1],
  ['Range', fc.constantFrom('bytes=0-0', 'bytes=-1', 'x')],
  ['If-None-Match', fc.constant('*')],
  ['If-Modified-Since', latin1],
  ['Connection', fc.constantFrom('close', 'keep-alive', 'TE')],
  ['Access-Control-Request-Method', fc.constantFrom('POST', 'x')],
  ['X-Long', fc.constant('x'.repeat(4_000))],
]
// Each is a host by RFC 3986, or what proxies and scripts send for one.
const HOSTS = ['127.0.0.1', 'x', 'a b', '[', '[::1]:3', 'x:99999', '%', '..', '<>', 'x:', '*']

const headersOf = (tokens: Tokens, operation: Operation) =>
  fc
    .record({
      host: or(30, fc.constant('127.0.0.1'), fc.constantFrom(...HOSTS)),
      authorization: authorizations(tokens, operation),
      type: or<string | undefined>(30, fc.constant('application/json'), fc.constantFrom(undefined, ...TYPES)),
      extra: fc.tuple(
        ...EXTRA.map(([name, values]) =>
          or(
            11,
            fc.constant(undefined),
            values.map((value) => [name, value] as const),
          ),
        ),
      ),
    })
    .map(({ host, authorization, type, extra }) => [
      ['Host', host] as const,
      ...(authorization === undefined ? [] : [['Authorization', authorization] as const]),
      ...(type === undefined ? [] : [['Content-Type', type] as const]),
      ...extra.filter((header) => header !== undefined),
    ])

type Target = Pick<FuzzRequest, 'target' | 'path' | 'also'>

const ANYWHERE = [...new Set(operations.flatMap(({ operation }) => Object.keys(operation.responses).map(Number))), 404]
const targetsOf = (operation: Operation, submissionId: string): fc.Arbitrary<Target> => {
  const id = fc.oneof(fc.constant(submissionId), fc.uuid(), fc.constantFrom(...IDS))
  const path = id.map((one) => operation.at.replace('{id}', one))
  const query = fc.constantFrom(
    '?',
    '?x=%ff',
    '?__proto__[a]=1&constructor=2',
    '?access_token=x',
    `?${'a=1&'.repeat(300)}`,
  )
  const exact = or(
    20,
    path,
    fc.tuple(path, query).map((parts) => parts.join('')),
  ).map((target) => ({ target, path: operation.path, also: [] }))
  const near = fc
    .tuple(path, fc.constantFrom('/', '//', '/.', '/..', '%20', ';x', '/x', '.json', '%2f'))
    .map((parts) => ({ target: parts.join(''), path: undefined, also: ANYWHERE }))
  const nowhere = fc.constantFrom(...NOWHERE).map((target) => ({ target, path: undefined, also: [400, 404] }))
  const board = fc
    .constantFrom(...BOARD)
    .map((target) => ({ target, path: undefined, also: [200, 400, 401, 403, 404, 405, 415] }))
  return fc.oneof(
    { weight: 60, arbitrary: exact },
    { weight: 2, arbitrary: near },
    { weight: 1, arbitrary: nowhere },
    { weight: 1, arbitrary: board },
  )
}

/** Requests at an operation: good ones, nearly good ones, and such as nobody with good intentions sends. */
const requestsAt = (operation: Operation, tokens: Tokens, submissionId: string): fc.Arbitrary<FuzzRequest> =>
  fc
    .record({
      target: targetsOf(operation, submissionId),
      method: or(40, fc.constant(operation.method), fc.constantFrom('POST', ...METHODS)),
      headers: headersOf(tokens, operation),
      coded: bodiesOf(operation),
      chunked: or(10, fc.constant(false), fc.constant(true)),
    })
    .map(({ target, method, headers, coded: { body, encoding }, chunked }) => ({
      ...target,
      method,
      headers: encoding === undefined ? headers : [...headers, ['Content-Encoding', encoding] as const],
      body,
      chunked,
    }))

/** Over all operations of the document; submissions come more often, since they have the most to go wrong. */
export const fuzzRequests = (tokens: Tokens, submissionId: string): fc.Arbitrary<FuzzRequest> =>
  fc.oneof(
    ...operations.map((operation) => ({
      weight: operation.path.endsWith('/purge') ? 2 : operation.method === 'POST' ? 8 : 1,
      arbitrary: requestsAt(operation, tokens, submissionId),
    })),
  )

/** As it goes over the wire. */
export const bytesOf = ({ method, target, headers, body, chunked }: FuzzRequest): Buffer => {
  const framing = chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.byteLength}`
  const lines = [
    `${method} ${target} HTTP/1.1`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    framing,
    '',
    '',
  ]
  return Buffer.concat([Buffer.from(lines.join('\r\n'), 'latin1'), chunked ? inChunks(body) : body])
}

const inChunks = (body: Uint8Array): Buffer => {
  const middle = Math.ceil(body.byteLength / 2)
  const pieces = [body.subarray(0, middle), body.subarray(middle)].filter((piece) => piece.byteLength > 0)
  return Buffer.concat([
    ...pieces.flatMap((piece) => [Buffer.from(`${piece.byteLength.toString(16)}\r\n`), piece, Buffer.from('\r\n')]),
    Buffer.from('0\r\n\r\n'),
  ])
}
