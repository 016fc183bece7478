import * as v from 'valibot'
import { about } from '../../contract/fields.ts'
import { MAX_REPORTED_PROBLEMS } from '../../contract/limits.ts'
import { receipt } from '../../contract/receipt.ts'
import * as records from '../../contract/record-schemas.ts'
import type { RESOURCES } from '../reads/reads.ts'
import { batchResult } from '../submit/submit-batch.ts'

/** A member whose schema has a name. */
const named = <Schema extends v.GenericSchema>(schema: Schema, description: string) =>
  about(
    v.lazy(() => schema),
    description,
  )

const list = (record: v.GenericSchema, description: string) => about(v.array(record), description)
const next = about(v.nullable(v.string()), 'The `next` for the following page; null at the end of the list.')
const pageOf = (many: string, record: v.GenericSchema) =>
  about(v.object({ [many]: list(record, 'The records of this page. A page can be empty.'), next }), 'A page.')
const foundOf = (one: string, record: v.GenericSchema, more: v.ObjectEntries = {}) =>
  about(v.object({ [one]: named(record, 'The record.'), ...more }), 'One record.')

const problem = about(
  v.object({
    message: about(v.string(), 'Where the problem is and what the service expected there. Never repeats the value.'),
    path: about(
      v.string(),
      'The members that lead to the problem, joined by dots, such as `messages.0.createdAt`; the name of a header or parameter; or empty ' +
        'for the body as a whole.',
    ),
  }),
  'One thing that is wrong.',
)

/** The schemas of answers, by name. */
export const ANSWERS = {
  FeedbackCreated: about(
    v.object({ feedback: named(records.feedback, 'The record.') }),
    'Some members of the feedback that the service will store.',
  ),
  Feedback: records.feedback,
  Success: about(
    v.object({
      success: about(v.boolean(), 'Always true: a submission that is not accepted has another status.'),
    }),
    'The submission was accepted.',
  ),
  BatchAnswered: about(
    v.object({ results: list(batchResult, 'One result for each item, in the order of the items.') }),
    'The result of each item.',
  ),
  BatchResult: batchResult,
  SubmissionFound: about(v.object({ submission: named(receipt, 'The receipt.') }), 'The receipt of a submission.'),
  Receipt: receipt,
  Error: about(
    v.object({ error: about(v.string(), 'A sentence for people. Programs should decide by the status.') }),
    'Why the request was refused.',
  ),
  ValidationError: about(
    v.object({
      error: about(
        v.pipe(v.array(problem), v.minLength(1), v.maxLength(MAX_REPORTED_PROBLEMS)),
        `All problems at once, up to ${MAX_REPORTED_PROBLEMS}. The items of a batch share this number, and each invalid item reports at least one problem.`,
      ),
    }),
    'Everything that is wrong with the request.',
  ),
  Problem: problem,
  Customer: records.customer,
  Account: records.account,
  Project: records.project,
  FeedbackCategory: records.feedbackCategory,
  StoredConversation: records.conversation,
  StoredMessage: records.message,
  FeedbackPage: pageOf('feedbacks', records.feedback),
  FeedbackFound: foundOf('feedback', records.feedback),
  CustomerPage: pageOf('customers', records.customer),
  CustomerFound: foundOf('customer', records.customer),
  AccountPage: pageOf('accounts', records.account),
  AccountFound: foundOf('account', records.account),
  ProjectPage: pageOf('projects', records.project),
  ProjectFound: foundOf('project', records.project),
  FeedbackCategoryPage: pageOf('feedbackCategories', records.feedbackCategory),
  FeedbackCategoryFound: foundOf('feedbackCategory', records.feedbackCategory),
  StoredConversationPage: pageOf('conversations', records.conversation),
  StoredConversationFound: foundOf('conversation', records.conversation, {
    messages: list(records.message, 'The messages of this page.'),
    next,
  }),
  ChangesPage: about(
    v.object({
      changes: list(records.change, 'The changes of this page.'),
      next: about(v.string(), 'The value of `after` for the next request.'),
    }),
    'Changes in their order.',
  ),
  Change: records.change,
  ...records.CHANGES,
  WebhookMessage: records.webhookMessage,
  Alive: about(v.object({ alive: about(v.boolean(), 'Always true.') }), 'The process runs.'),
  Ready: about(
    v.object({
      ready: about(v.boolean(), 'True if Redis and Postgres answer and the process is not shutting down.'),
    }),
    'Whether requests can be served.',
  ),
} as const satisfies Readonly<Record<string, v.GenericSchema>>
type AnswerName = keyof typeof ANSWERS

type Path = (typeof RESOURCES)[number]['path']

/** The name of the schema of a record of each resource. */
export const RECORD_OF = {
  feedbacks: 'Feedback',
  customers: 'Customer',
  accounts: 'Account',
  projects: 'Project',
  'feedback-categories': 'FeedbackCategory',
  conversations: 'StoredConversation',
} as const satisfies Readonly<Record<Path, AnswerName>>
