import type { Operation } from '../../contract/submission.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { MAX_REPORTED_PROBLEMS } from '../../contract/limits.ts'
import type { Receipt, SubmissionState } from '../../contract/receipt.ts'
import { READ_FEEDBACK, READING_SCHEMAS, object, reference, text } from './reading-schemas.ts'

const OPERATIONS: Readonly<Record<Operation, string>> = {
  create_feedback: 'POST /feedbacks',
  identify_contact: 'POST /contacts/identify',
  identify_account: 'POST /accounts/identify',
  submit_conversation: 'POST /conversations',
  purge_contact: 'POST /contacts/purge',
}

const STATES: Readonly<Record<SubmissionState, string>> = {
  queued: 'waits to be applied, or is a purge whose records are being removed',
  applied: 'is stored',
  superseded: 'replayed after it was dead, and left without effect because a newer submission had replaced its record',
  purged: 'removed before it was applied, by a purge or with its workspace',
  dead: 'set aside with a reason; operators can have it processed again',
}

/** An enumeration whose description explains each value. */
const enumeration = (about: string, meanings: Readonly<Record<string, string>>): JsonObject => ({
  type: 'string',
  enum: Object.keys(meanings),
  description: `${about} ${Object.entries(meanings)
    .map(([value, meaning]) => `\`${value}\`: ${meaning}`)
    .join('; ')}.`,
})

export const submissionState = enumeration('What became of the submission.', STATES)

const OF_PURGES: readonly string[] = ['counts', 'identifiers', 'consumers']
const CONSUMER_COUNT = { type: 'integer', minimum: 0, description: 'How many.' }

/** The type makes the compiler complain when a new member of a receipt has no description. */
const RECEIPT: Readonly<Record<keyof Receipt, JsonValue>> = {
  id: text('The id that came in `Submission-Id`.', { format: 'uuid' }),
  operation: enumeration('The operation of the submission.', OPERATIONS),
  state: submissionState,
  attempts: { type: 'integer', minimum: 0, description: 'How often processing was begun.' },
  acceptedAt: text('When it was accepted.', { format: 'date-time' }),
  finishedAt: {
    type: ['string', 'null'],
    format: 'date-time',
    description: 'When it reached its final state; null while it is queued.',
  },
  error: { type: ['string', 'null'], description: 'Why it is dead, without personal data; null otherwise.' },
  counts: {
    type: 'object',
    additionalProperties: { type: 'integer', minimum: 0 },
    description: 'Of a purge that has ended: the number of removed records, by kind.',
  },
  consumers: {
    ...object('', { total: CONSUMER_COUNT, confirmed: CONSUMER_COUNT }),
    description:
      'Of a purge that has ended: the webhooks of the workspace, and how many have confirmed all that it removed.',
  },
  identifiers: {
    type: 'object',
    additionalProperties: { type: ['string', 'null'] },
    description: 'Of a purge that has ended: keyed hashes of the `id` and `email` that it asked for.',
  },
}

/** The schemas of answers, by name. The schemas of bodies are made from their validators. */
export const ANSWER_SCHEMAS: JsonObject = {
  FeedbackCreated: object('The feedback as it will be stored.', {
    feedback: { ...reference('Feedback'), description: 'The record.' },
  }),
  Feedback: object(
    'A feedback record. Members without a value are left out. The members after `sourceData` are present only where the record is read.',
    {
      id: text('Id of the record; the same whenever the same source and `sourceId` are submitted.'),
      description: text('The text as it was submitted.'),
      customerId: text(
        'Own id of the contact who gave the feedback. It resolves to this contact until a purge removes the contact. Left out when it ' +
          'cannot be determined in time: while the database is away, or while many queued submissions may decide it.',
      ),
      projectId: text('Own id of the project that it is about. Left out when it cannot be determined in time.'),
      rating: { type: 'number', description: 'The score as it was submitted.' },
      sourceId: text('What the record is called in its source.'),
      sourceData: {
        type: 'object',
        additionalProperties: true,
        description: 'The source data, unflattened if that was asked for.',
      },
      ...READ_FEEDBACK,
    },
    ['id', 'description'],
  ),
  Success: object('The submission was accepted.', {
    success: { type: 'boolean', description: 'Always true: a submission that is not accepted has another status.' },
  }),
  BatchAnswered: object('The result of each item.', {
    results: {
      type: 'array',
      items: reference('BatchResult'),
      description: 'One for each item, in the order of the items.',
    },
  }),
  BatchResult: object(
    'The answer that the operation alone would have given.',
    {
      status: { type: 'integer', description: 'The status of the answer.' },
      submissionId: text('Id of the accepted submission, for `GET /submissions/{id}`.', { format: 'uuid' }),
      state: submissionState,
      retryAfter: { type: 'integer', minimum: 1, description: 'Whole seconds after which to send the item again.' },
      body: { type: 'object', additionalProperties: true, description: 'The body of the answer.' },
    },
    ['status', 'body'],
  ),
  SubmissionFound: object('The receipt of a submission.', {
    submission: { ...reference('Receipt'), description: 'The receipt.' },
  }),
  Receipt: object(
    'What became of an accepted submission. Nothing in it is personal.',
    RECEIPT,
    Object.keys(RECEIPT).filter((name) => !OF_PURGES.includes(name)),
  ),
  Error: object('Why the request was turned away.', {
    error: text('A sentence for people. Programs should decide by the status.'),
  }),
  ValidationError: object('Everything that is wrong with the request.', {
    error: {
      type: 'array',
      minItems: 1,
      maxItems: MAX_REPORTED_PROBLEMS,
      items: reference('Problem'),
      description: `All problems at once, up to ${MAX_REPORTED_PROBLEMS}. The items of a batch share this number, and each refused item tells at least one.`,
    },
  }),
  Problem: object('One thing that is wrong.', {
    message: text('Where the problem is and what the service expected there. Never repeats the value.'),
    path: text(
      'The members that lead to the problem, joined by dots, such as `messages.0.createdAt`; the name of a header; or empty ' +
        'for the body as a whole.',
    ),
  }),
  ...READING_SCHEMAS,
  Alive: object('The process runs.', { alive: { type: 'boolean', description: 'Always true.' } }),
  Ready: object('Whether requests can be served.', {
    ready: { type: 'boolean', description: 'True if Redis and Postgres answer and the process is not shutting down.' },
  }),
}
