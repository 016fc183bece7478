import * as v from 'valibot'
import type { JsonObject } from '../../contract/json.ts'
import { MAX_BATCH_ITEMS } from '../../contract/limits.ts'
import { SETTINGS } from '../../runtime/settings.ts'
import { ANSWER_EXAMPLES } from './answer-examples.ts'
import { REQUEST_EXAMPLES } from './examples.ts'
import { headersOf, parametersOf, type ResponseHeader } from './headers.ts'
import { refusalsOf, type RefusalAnswerName } from './refusals.ts'

const CONVERSATIONS_PER_MINUTE = v.getDefault(SETTINGS.CONVERSATIONS_PER_MINUTE.schema)

type PostText = {
  operationId: string
  summary: string
  description: string
  body?: keyof typeof REQUEST_EXAMPLES
  answer: AnswerText & { status: 200 | 201 }
  parameters: Parameters<typeof parametersOf>[0]
  refusals: readonly RefusalAnswerName[]
}
type AnswerText = {
  schema: keyof typeof ANSWER_EXAMPLES
  description: string
  headers?: readonly ResponseHeader[]
}

const postPath = (text: PostText): JsonObject => ({ post: operationOf(text) })

const operationOf = ({ body, answer, parameters, refusals, ...about }: PostText): JsonObject => ({
  tags: ['Submissions'],
  ...about,
  parameters: parametersOf([...parameters, 'Prefer', ...(body ? (['ContentEncoding'] as const) : []), 'RequestId']),
  ...(body && { requestBody: requestBodyOf(body) }),
  responses: {
    [answer.status]: successAnswer(answer),
    ...refusalsOf([...(body ? EVERY_BODY : []), ...EVERY_SUBMISSION, ...refusals]),
  },
})

const requestBodyOf = (body: keyof typeof REQUEST_EXAMPLES): JsonObject => ({
  required: true,
  content: {
    'application/json': { schema: { $ref: `#/components/schemas/${body}` }, examples: REQUEST_EXAMPLES[body] },
  },
})

export const successAnswer = ({ schema, description, headers = [] }: AnswerText): JsonObject => ({
  description,
  headers: headersOf(headers),
  content: {
    'application/json': { schema: { $ref: `#/components/schemas/${schema}` }, examples: ANSWER_EXAMPLES[schema] },
  },
})

const EVERY_SUBMISSION: readonly RefusalAnswerName[] = [
  'Invalid',
  'Unauthenticated',
  'WrongMethod',
  'Unforeseen',
  'Unavailable',
]
const EVERY_BODY: readonly RefusalAnswerName[] = ['TooSlow', 'NotJson']
const HEADERS_OF_ACCEPTED: readonly ResponseHeader[] = [
  'Submission-Id',
  'Submission-State',
  'Preference-Applied',
  'RateLimit-Policy',
  'RateLimit',
]

type SubmissionText = Omit<PostText, 'parameters'> & { parameters?: PostText['parameters'] }

/** `refusals`: the refusals of this operation that not every submission has. */
const submissionOf = ({ answer, refusals, parameters = [], ...others }: SubmissionText): PostText => ({
  ...others,
  answer: { ...answer, headers: HEADERS_OF_ACCEPTED },
  parameters: [...parameters, 'IdempotencyKey'],
  refusals: ['KeyOfOtherBody', 'RateLimited', ...refusals],
})

const submissionPath = (text: SubmissionText): JsonObject => postPath(submissionOf(text))

/** Submissions and their receipts, by their paths below the base path. */
export const PATHS_OF_SUBMISSIONS: Readonly<Record<string, JsonObject>> = {
  '/feedbacks': submissionPath({
    operationId: 'createFeedback',
    summary: 'Create a feedback record',
    description:
      'Stores one piece of feedback, linked to a contact, an account and a project if they are named. The same `source` and ' +
      '`sourceId` again replace the record.',
    body: 'FeedbackSubmission',
    answer: {
      status: 201,
      schema: 'FeedbackCreated',
      description: 'Accepted, with some members of the record that the service will store.',
    },
    refusals: ['MayNotSubmit', 'TooLarge'],
  }),
  '/feedbacks/{id}': {
    patch: operationOf(
      submissionOf({
        operationId: 'correctFeedback',
        summary: 'Correct a feedback record',
        description:
          'Sets what a person knows better than the source: tags, rating, or that the feedback is not to be shown. What is set stays ' +
          'when the source sends the record again, and everything else follows the source. Null gives a member back. Corrected tags ' +
          'teach the tagger. Takes effect in the order of acceptance, and requires a token of scope `edit` or an admin token.',
        body: 'Correction',
        parameters: ['RecordId'],
        answer: { status: 200, schema: 'Success', description: 'Accepted.' },
        refusals: ['MayNotEdit', 'NoRecordToChange', 'TooLarge'],
      }),
    ),
    delete: operationOf(
      submissionOf({
        operationId: 'deleteFeedback',
        summary: 'Delete a feedback record for good',
        description:
          'Removes the record and all data derived from it, as a purge does. Its contact, account and project stay, but a contact that ' +
          'was known by its name alone and belongs to this record goes as well. The id is never given again: the same `source` and ' +
          '`sourceId` later create a record with another id. Takes effect in the order of acceptance, cannot be undone, and requires an ' +
          'admin token. The receipt is `applied` when everything is removed.',
        parameters: ['RecordId'],
        answer: { status: 200, schema: 'Success', description: 'Accepted: the deletion will finish.' },
        refusals: ['NoAdmin', 'NoRecordToChange'],
      }),
    ),
  },
  '/themes': submissionPath({
    operationId: 'createTheme',
    summary: 'Make a theme',
    description:
      'Makes a theme from feedback that a person chooses, which is taken out of the themes that it had. This can split a theme. ' +
      'The texts teach the service what belongs to the theme. Requires a token of scope `edit` or an admin token.',
    body: 'NewTheme',
    answer: { status: 201, schema: 'ThemeCreated', description: 'Accepted.' },
    refusals: ['MayNotEdit', 'NoRecordToChange', 'TooLarge'],
  }),
  '/themes/{id}': {
    patch: operationOf(
      submissionOf({
        operationId: 'editTheme',
        summary: 'Edit a theme',
        description:
          'Renames, hides or merges a theme, or puts feedback into it. An edit is seen on all texts at once, and the next edit can undo ' +
          'it: null gives a member back. Requires a token of scope `edit` or an admin token.',
        body: 'ThemeEdit',
        parameters: ['RecordId'],
        answer: { status: 200, schema: 'Success', description: 'Accepted.' },
        refusals: ['MayNotEdit', 'NoRecordToChange', 'TooLarge'],
      }),
    ),
  },
  '/contacts/identify': submissionPath({
    operationId: 'identifyContact',
    summary: 'Identify a contact',
    description: 'Creates or updates a contact, and links its account if one is given.',
    body: 'ContactRecord',
    answer: { status: 201, schema: 'Success', description: 'Accepted.' },
    refusals: ['MayNotSubmit', 'TooLarge'],
  }),
  '/contacts/purge': submissionPath({
    operationId: 'purgeContact',
    summary: 'Delete a contact for good',
    description:
      'Removes every contact that matches, with its feedback, its messages and all data derived from them. A conversation in ' +
      'which no other contact is left is removed as a whole. Accounts and projects stay. A purge cannot be undone, and requires an admin token. ' +
      'It takes effect in the order of acceptance: it removes earlier submissions of the contact, and a later submission creates a new ' +
      'contact. The answer waits at most 10 seconds for the decision which contacts match. ' +
      'The receipt is `applied` when all records are removed.',
    body: 'PurgeRequest',
    answer: { status: 200, schema: 'Success', description: 'Accepted: the purge will finish.' },
    refusals: ['NoAdmin', 'NoSuchContact', 'TooLarge'],
  }),
  '/accounts/identify': submissionPath({
    operationId: 'identifyAccount',
    summary: 'Identify an account',
    description: 'Creates or updates an account.',
    body: 'AccountRecord',
    answer: { status: 201, schema: 'Success', description: 'Accepted.' },
    refusals: ['MayNotSubmit', 'TooLarge'],
  }),
  '/conversations': submissionPath({
    operationId: 'submitConversation',
    summary: 'Submit a conversation',
    description:
      'Stores a call transcript, an email thread or a chat, and identifies its contacts. The same `source` and ' +
      '`id` again replace its title, rating and properties, and each message that is sent again, unless a submission with a newer ' +
      '`updatedAt` has written them. Other messages and contacts stay. By default a workspace may submit ' +
      `${CONVERSATIONS_PER_MINUTE} conversations in any 60 seconds.`,
    body: 'Conversation',
    answer: { status: 200, schema: 'Success', description: 'Accepted.' },
    refusals: ['MayNotSubmit', 'ConversationTooLarge'],
  }),
  '/batch': postPath({
    operationId: 'submitBatch',
    summary: 'Submit many at once',
    description:
      `Up to ${MAX_BATCH_ITEMS} submissions of any operation but purges, accepted in their order. Each result is the answer that the ` +
      'item would get as a request of its own, with the same limits. A refused item affects no other item. With `Prefer: wait=N` ' +
      'the answer waits up to N seconds (at most 30) for all items.',
    body: 'BatchRequest',
    answer: {
      status: 200,
      schema: 'BatchAnswered',
      description: 'The result of each item.',
      headers: ['Preference-Applied'],
    },
    parameters: [],
    refusals: ['MayNotSubmit', 'BatchTooLarge'],
  }),
  '/submissions/{id}': {
    get: {
      tags: ['Submissions'],
      operationId: 'getSubmission',
      summary: 'Read the receipt of a submission',
      description:
        'The receipt of an accepted submission of this workspace. Operators configure how long receipts are kept.',
      parameters: parametersOf(['SubmissionId', 'RequestId']),
      responses: {
        200: successAnswer({ schema: 'SubmissionFound', description: 'The receipt.' }),
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
