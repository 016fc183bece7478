import { IDEMPOTENCY_KEY } from '../../contract/batch-request.ts'
import type { JsonObject } from '../../contract/json.ts'
import { MAX_IDENTIFIER_CHARACTERS } from '../../contract/limits.ts'
import { submissionState } from '../../contract/receipt.ts'
import { REQUEST_ID } from '../http/request-id.ts'
import { schemaOf } from './schemas.ts'

const header = (description: string, schema: JsonObject = { type: 'string' }): JsonObject => ({ description, schema })

/** Descriptions of the answer headers. */
export const RESPONSE_HEADERS = {
  'X-Request-Id': header(
    'Id of the request: the `X-Request-Id` that the client sent if it has a valid form, else a new id.',
  ),
  'Submission-Id': header('Id of the accepted submission, for `GET /submissions/{id}`.', {
    type: 'string',
    format: 'uuid',
  }),
  'Submission-State': header(
    'The state of the submission at the time of the answer. Sent if the request asked to wait.',
    schemaOf(submissionState),
  ),
  'Preference-Applied': header(
    'The preferences that the service followed. `wait`: the submission left the state `queued` in time. `handling=strict`: the request ' +
      'asked for it. It is in the 200 of a batch, and in answers to a single submission whose token has the permission, also if ' +
      'the body is refused. The answer to a batch never has ' +
      '`wait`: its results have `state`. A page of changes has `wait` if the request asked to wait and the page is not empty.',
  ),
  'RateLimit-Policy': header(
    'Sent to permitted callers of an operation with a limit. It has the name of the operation, the number of submissions (`q`), ' +
      'and the seconds in which they are allowed (`w`), such as `"submit_conversation";q=10;w=60`.',
  ),
  RateLimit: header(
    'Sent if the service checked a limit: the number of submissions that remain (`r`). If some are used, ' +
      'also the seconds until one more is allowed (`t`), such as `"submit_conversation";r=9;t=60`.',
  ),
  'Retry-After': header('Whole seconds after which to try again.', { type: 'integer', minimum: 1 }),
  'WWW-Authenticate': header('How to authenticate.'),
  Allow: header('The methods that the path takes.'),
  'Accept-Encoding': header('The content codings that a body may have.'),
} as const satisfies Readonly<Record<string, JsonObject>>
export type ResponseHeader = keyof typeof RESPONSE_HEADERS

/** References to headers, as the `headers` of a response. */
export const headersOf = (names: readonly ResponseHeader[]): JsonObject =>
  Object.fromEntries(
    (['X-Request-Id', ...names] as const).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  )

const requestHeader = (name: string, description: string, schema: JsonObject): JsonObject => ({
  name,
  in: 'header',
  description,
  schema: { type: 'string', ...schema },
})

export const idInPath = (description: string): JsonObject => ({
  name: 'id',
  in: 'path',
  required: true,
  description,
  schema: { type: 'string', format: 'uuid' },
})

// No examples: a page that lets people try requests would send the examples.
export const PARAMETERS = {
  IdempotencyKey: requestHeader(
    'Idempotency-Key',
    'Makes a repeated request harmless. For 24 hours, a request with the same key and body gets the first answer again. It is not ' +
      'applied twice, and does not count against a limit. Keys belong to a workspace and an operation. While the database is away, ' +
      'only recent keys are recognised.',
    { pattern: IDEMPOTENCY_KEY.source },
  ),
  Prefer: requestHeader(
    'Prefer',
    'With `wait=N` the answer comes when the submission is no longer `queued`, or after N seconds (at most 30). The status stays the ' +
      'same. `Submission-State` has the state; in a batch, the `state` of each result has it. The answer does not wait for ' +
      'generated tags. With `handling=strict` a 400 names ' +
      'probable mistakes: a member that is not described here, a key of `properties` such as `$Email`, which would otherwise be ' +
      'metadata, and a contact, account or project that has no id, name, email or domain. Other preferences are ignored.',
    {},
  ),
  ContentEncoding: requestHeader('Content-Encoding', 'Set to `gzip` when the body is compressed.', {
    enum: ['gzip', 'identity'],
  }),
  RequestId: requestHeader(
    'X-Request-Id',
    'Your id for the request. The answer repeats it, and our logs name it when they report a fault of the request.',
    {
      pattern: REQUEST_ID.source,
    },
  ),
  PreferWait: requestHeader(
    'Prefer',
    'With `wait=N` an answer that would be empty waits up to N seconds (at most 30) for changes.',
    {},
  ),
  PreferStrict: requestHeader(
    'Prefer',
    'With `handling=strict` a 400 names each member that is not described here. Other preferences are ignored.',
    {},
  ),
  SourceName: {
    name: 'source',
    in: 'path',
    required: true,
    description: 'The name of the source, as feedback has it.',
    schema: { type: 'string', minLength: 1, maxLength: MAX_IDENTIFIER_CHARACTERS },
  },
  RecordId: idInPath('The own id of the record.'),
  SubmissionId: idInPath('The id from the header `Submission-Id` of an answer.'),
} as const satisfies Readonly<Record<string, JsonObject>>

export const parametersOf = (names: readonly (keyof typeof PARAMETERS)[]): JsonObject[] =>
  names.map((name) => ({ $ref: `#/components/parameters/${name}` }))
