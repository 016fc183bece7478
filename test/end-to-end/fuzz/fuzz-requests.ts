import { Buffer } from 'node:buffer'
import { gzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { operations } from '../../api/openapi/openapi-document.ts'
import { headersOf, type Operation, or, type Tokens } from './fuzz-headers.ts'
import { hostileText, textOf } from './fuzz-json.ts'

export type FuzzRequest = {
  /** The documented path; undefined if the target may lead to another path. */
  readonly path: string | undefined
  /** Expected statuses besides the documented statuses of `path`. */
  readonly moreStatuses: readonly number[]
  readonly method: string
  readonly target: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Uint8Array
  readonly chunked: boolean
}

type Coded = { readonly body: Buffer; readonly encoding?: string }

const METHODS = ['POST', 'GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'PURGE', 'QUERY']
const NOWHERE =
  '// /api /api/v1 /api/v1/ /api/v2/feedbacks /api/v1/%66eedbacks /%ff%00 /__proto__ /api/v1/contacts'.split(' ')
const PAGES = ['', '/api/queues', '/api/queues/feedback/x', '/%ff', '/static/%2e%2e/x', '/queue/%00']
  .map((path) => `/admin/queues${path}`)
  .concat('/')
const IDS = ['x', '%ff', '%', '%00', '__proto__', "'", '00000000-0000-0000-0000-000000000000', 'x'.repeat(3_000)]
const BROKEN_BYTES = ['ff', 'c080', 'eda080', 'f4908080', '00', 'efbbbf', '22', '5c']
const LARGE_BYTES = { feedback: 600 * 1_024, inflated: 8 * 1_024 * 1_024 }

/** A body that is cut off, or has further bytes inside. */
const broken = (body: Buffer): fc.Arbitrary<Buffer> =>
  fc
    .record({ at: fc.nat({ max: body.length }), bytes: fc.constantFrom('', ...BROKEN_BYTES) })
    .map(({ at, bytes }) =>
      bytes.length === 0
        ? body.subarray(0, at)
        : Buffer.concat([body.subarray(0, at), Buffer.from(bytes, 'hex'), body.subarray(at)]),
    )

/** Functions, so that only the drawn encoding is computed: compression is the slowest step. */
const ENCODINGS: readonly ((body: Buffer, at: number) => Coded)[] = [
  (body) => ({ body: gzipSync(body), encoding: 'gzip' }),
  (body) => ({ body: gzipSync(body), encoding: 'GZIP' }),
  (body) => ({ body: gzipSync(body), encoding: ' gzip ' }),
  (body, at) => ({ body: gzipSync(body.subarray(at)), encoding: 'gzip' }),
  (body, at) => ({ body: gzipSync(body).subarray(0, at), encoding: 'gzip' }),
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
  fc.tuple(fc.constantFrom(...ENCODINGS), fc.nat({ max: 40 })).map(([encode, at]) => encode(body, at))

const tooLarge = fc.constantFrom<Coded>(
  { body: Buffer.from(JSON.stringify({ description: 'x'.repeat(LARGE_BYTES.feedback) })) },
  { body: gzipSync(Buffer.alloc(LARGE_BYTES.inflated, ' ')), encoding: 'gzip' },
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

type Target = Pick<FuzzRequest, 'target' | 'path' | 'moreStatuses'>

const DOCUMENTED_STATUSES = [
  ...new Set(operations.flatMap(({ operation }) => Object.keys(operation.responses).map(Number))),
  404,
]
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
  ).map((target) => ({ target, path: operation.path, moreStatuses: [] }))
  const near = fc
    .tuple(path, fc.constantFrom('/', '//', '/.', '/..', '%20', ';x', '/x', '.json', '%2f'))
    // Dots can lead to `/`, which redirects a browser to the reference.
    .map((parts) => ({
      target: parts.join(''),
      path: undefined,
      moreStatuses: [...DOCUMENTED_STATUSES, 200, 302, 405],
    }))
  const nowhere = fc.constantFrom(...NOWHERE).map((target) => ({ target, path: undefined, moreStatuses: [400, 404] }))
  const pages = fc
    .constantFrom(...PAGES)
    .map((target) => ({ target, path: undefined, moreStatuses: [200, 302, 400, 401, 403, 404, 405, 415] }))
  return fc.oneof(
    { weight: 60, arbitrary: exact },
    { weight: 2, arbitrary: near },
    { weight: 1, arbitrary: nowhere },
    { weight: 1, arbitrary: pages },
  )
}

/** Requests to an operation: good, nearly good, and malicious ones. */
const requestsAt = (operation: Operation, tokens: Tokens, submissionId: string): fc.Arbitrary<FuzzRequest> =>
  fc
    .record({
      target: targetsOf(operation, submissionId),
      method: or(40, fc.constant(operation.method), fc.constantFrom(...METHODS)),
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

/** How often a path is asked for, where other operations count 1. */
const WEIGHTS = new Map(
  ['/feedbacks', '/conversations', '/contacts/identify', '/accounts/identify', '/batch'].map((path) => [path, 12]),
).set('/contacts/purge', 2)

/**
 * Requests to all operations of the document. Submissions come more often, since they have the most
 * ways to go wrong.
 */
export const fuzzRequests = (tokens: Tokens, submissionId: string): fc.Arbitrary<FuzzRequest> =>
  fc.oneof(
    ...operations.map((operation) => ({
      weight: (operation.method === 'POST' && WEIGHTS.get(operation.path)) || 1,
      arbitrary: requestsAt(operation, tokens, submissionId),
    })),
  )

/** The bytes of a request. */
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
  const chunks = pieces.flatMap((piece) => [
    Buffer.from(`${piece.byteLength.toString(16)}\r\n`),
    piece,
    Buffer.from('\r\n'),
  ])
  return Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')])
}
