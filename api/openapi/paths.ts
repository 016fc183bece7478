import * as v from 'valibot'
import type { JsonObject } from '../../contract/json.ts'
import { MAX_BATCH_ITEMS } from '../../contract/limits.ts'
import { SETTINGS } from '../../runtime/settings.ts'
import { ANSWER_EXAMPLES, type AnswerName, REQUEST_EXAMPLES } from './examples.ts'
import { headersOf, parametersOf, type ResponseHeader } from './headers.ts'
import { refusalsOf, type TurnedAway } from './refusals.ts'

const CONVERSATIONS_PER_MINUTE = v.getDefault(SETTINGS.CONVERSATIONS_PER_MINUTE.schema)

type SubmissionText = {
  operationId: string
  summary: string
  description: string
  body: keyof typeof REQUEST_EXAMPLES
  answer: { status: 200 | 201; of: AnswerName; description: string }
  /** Refusals that this operation has beside those of every submission. */
  refusals: readonly TurnedAway[]
}

const EVERY_SUBMISSION: readonly TurnedAway[] = [
  'Invalid',
  'Unauthenticated',
  'WrongMethod',
  'TooSlow',
  'NotJson',
  'KeyOfOtherBody',
  'RateLimited',
  'Unforeseen',
  'Unavailable',
]
const HEADERS_OF_ACCEPTED: readonly ResponseHeader[] = [
  'Submission-Id',
  'Submission-State',
  'Preference-Applied',
  'RateLimit-Policy',
  'RateLimit',
]

const submission = ({ body, answer, refusals, ...about }: SubmissionText): JsonObject => ({
  post: {
    tags: ['Submissions'],
    ...about,
    parameters: parametersOf(['IdempotencyKey', 'Prefer', 'ContentEncoding', 'RequestId']),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: { $ref: `#/components/schemas/${body}` },
          examples: REQUEST_EXAMPLES[body],
        },
      },
    },
    responses: {
      [answer.status]: succeeded({ ...answer, headers: HEADERS_OF_ACCEPTED }),
      ...refusalsOf([...EVERY_SUBMISSION, ...refusals]),
    },
  },
})

const succeeded = ({
  of,
  description,
  headers = [],
}: {
  of: AnswerName
  description: string
  headers?: readonly ResponseHeader[]
}): JsonObject => ({
  description,
  headers: headersOf(headers),
  content: {
    'application/json': { schema: { $ref: `#/components/schemas/${of}` }, examples: ANSWER_EXAMPLES[of] },
  },
})

/** Paths below the base path. */
export const PATHS_OF_SUBMISSIONS: Readonly<Record<string, JsonObject>> = {
  '/feedbacks': submission({
    operationId: 'createFeedback',
    summary: 'Create a feedback record',
    description:
      'Stores one piece of feedback, linked to a contact, an account and a project if they are named. The same `source` and ' +
      '`sourceId` again replace the record.',
    body: 'FeedbackSubmission',
    answer: { status: 201, of: 'FeedbackCreated', description: 'Accepted; the record as it will be stored.' },
    refusals: ['MayNotSubmit', 'TooLarge'],
  }),
  '/contacts/identify': submission({
    operationId: 'identifyContact',
    summary: 'Identify a contact',
    description:
      'Creates a contact or brings what is known about it up to date, and links its account if one is given.',
    body: 'ContactRecord',
    answer: { status: 201, of: 'Success', description: 'Accepted.' },
    refusals: ['MayNotSubmit', 'TooLarge'],
  }),
  '/contacts/purge': submission({
    operationId: 'purgeContact',
    summary: 'Delete a contact for good',
    description:
      'Removes every contact that matches, with its feedback, its messages and all that was made from them; a conversation in ' +
      'which no other contact is left goes as a whole. Accounts and projects stay. It cannot be undone, and wants an admin token. ' +
      'It takes effect in its place among the submissions: all that was accepted before it goes with the contact, and what is ' +
      'accepted later starts a new one. The answer comes when it is decided which contacts match, after 10 seconds at the latest; ' +
      'the receipt tells when all is removed.',
    body: 'PurgeRequest',
    answer: { status: 200, of: 'Success', description: 'Accepted: the purge has been initiated and will finish.' },
    refusals: ['MayNotPurge', 'NoSuchContact', 'TooLarge'],
  }),
  '/accounts/identify': submission({
    operationId: 'identifyAccount',
    summary: 'Identify an account',
    description: 'Creates an account or brings what is known about it up to date.',
    body: 'AccountRecord',
    answer: { status: 201, of: 'Success', description: 'Accepted.' },
    refusals: ['MayNotSubmit', 'TooLarge'],
  }),
  '/conversations': submission({
    operationId: 'submitConversation',
    summary: 'Submit a conversation',
    description:
      'Stores a call transcript, an email thread or a chat, and identifies the contacts who took part. The same `source` and ' +
      `\`id\` again replace it. Unless configured otherwise a workspace may submit ${CONVERSATIONS_PER_MINUTE} a minute; each ` +
      'is given back a minute after it was used.',
    body: 'Conversation',
    answer: { status: 200, of: 'Success', description: 'Accepted.' },
    refusals: ['MayNotSubmit', 'ConversationTooLarge'],
  }),
  '/batch': {
    post: {
      tags: ['Submissions'],
      operationId: 'submitBatch',
      summary: 'Submit many at once',
      description:
        `Up to ${MAX_BATCH_ITEMS} submissions of any operation but purges, accepted in their order. Each is answered as its operation by itself ` +
        'would answer, limits included: what is wrong with one item is told in its result and harms no other. With `Prefer: wait=N` the ' +
        'answer waits for all of them.',
      parameters: parametersOf(['Prefer', 'ContentEncoding', 'RequestId']),
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/BatchRequest' },
            examples: REQUEST_EXAMPLES.BatchRequest,
          },
        },
      },
      responses: {
        200: succeeded({
          of: 'BatchAnswered',
          description: 'The items were looked at; each result says what it came to.',
          headers: ['Preference-Applied'],
        }),
        ...refusalsOf([
          'Invalid',
          'Unauthenticated',
          'MayNotSubmit',
          'WrongMethod',
          'TooSlow',
          'BatchTooLarge',
          'NotJson',
          'Unforeseen',
          'Unavailable',
        ]),
      },
    },
  },
  '/submissions/{id}': {
    get: {
      tags: ['Submissions'],
      operationId: 'getSubmission',
      summary: 'Look up what became of a submission',
      description:
        'The receipt of an accepted submission of this workspace. Receipts are kept for a time that can be configured.',
      parameters: parametersOf(['SubmissionId', 'RequestId']),
      responses: {
        200: succeeded({ of: 'SubmissionFound', description: 'The receipt.' }),
        ...refusalsOf([
          'Invalid',
          'Unauthenticated',
          'MayNotSubmit',
          'NoSuchSubmission',
          'OnlyGet',
          'Unforeseen',
          'CannotLookUp',
        ]),
      },
    },
  },
}

const outside = (operation: JsonObject): JsonObject => ({ get: { tags: ['Operators'], ...operation } })

/** Paths outside the base path. */
export const PATHS_OUTSIDE: JsonObject = {
  '/healthz': outside({
    operationId: 'getHealth',
    summary: 'Whether the process runs',
    description: 'Asks no store: an API that cannot reach Redis runs all the same.',
    security: [],
    responses: {
      200: succeeded({ of: 'Alive', description: 'It does.' }),
      ...refusalsOf(['Invalid', 'OnlyGet', 'Unforeseen']),
    },
  }),
  '/readyz': outside({
    operationId: 'getReadiness',
    summary: 'Whether requests can be served',
    description: 'Asks Redis and Postgres. A balancer sends requests where the answer is 200.',
    security: [],
    responses: {
      200: succeeded({ of: 'Ready', description: 'They can.' }),
      ...refusalsOf(['Invalid', 'OnlyGet', 'Unforeseen']),
      503: {
        description: 'Redis or Postgres does not answer, or the process is shutting down.',
        headers: headersOf([]),
        content: {
          'application/json': { schema: { $ref: '#/components/schemas/Ready' }, example: { ready: false } },
        },
      },
    },
  }),
  '/metrics': outside({
    operationId: 'getMetrics',
    summary: 'Counts and times for Prometheus',
    description: 'Wants an operator token.',
    security: [{ bearer: [] }, { operator: [] }],
    responses: {
      200: {
        description: 'Metrics in the text format of Prometheus, version 0.0.4.',
        headers: headersOf([]),
        content: { 'text/plain': { schema: { type: 'string' } } },
      },
      401: {
        description: 'No operator token.',
        headers: headersOf(['WWW-Authenticate']),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
      ...refusalsOf(['Invalid', 'OnlyGet', 'Unforeseen', 'CannotLookUp']),
    },
  }),
}
