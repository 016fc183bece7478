import * as v from 'valibot'
import { about } from '../../contract/fields.ts'
import { MAX_REPORTED_PROBLEMS } from '../../contract/limits.ts'
import { receipt } from '../../contract/receipt.ts'
import { declaredField } from '../../contract/source-settings.ts'
import * as records from '../../contract/record-schemas.ts'
import { DIMENSION_NAMES } from '../../db/reads/dimensions.ts'
import type { RESOURCES } from '../reads/reads.ts'
import { batchResult } from '../submit/submit-batch.ts'

/** A member whose schema has a name. */
export const named = <Schema extends v.GenericSchema>(schema: Schema, description: string) =>
  about(
    v.lazy(() => schema),
    description,
  )

export const list = (record: v.GenericSchema, description: string) => about(v.array(record), description)
const next = about(v.nullable(v.string()), 'The `next` for the following page; null at the end of the list.')
const pageOf = (many: string, record: v.GenericSchema, more: v.ObjectEntries = {}) =>
  about(v.object({ [many]: list(record, 'The records of this page. A page can be empty.'), next, ...more }), 'A page.')
const unknownWords = about(
  v.exactOptional(v.array(v.string())),
  'Only for a search that finds nothing: those of its words that occur nowhere.',
)
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

export const number = (description: string) => about(v.number(), description)
export const orNull = <Schema extends v.GenericSchema>(schema: Schema, description: string) =>
  about(v.nullable(schema), description)

const FIGURES = {
  feedback: number('The number of feedback.'),
  rated: number('How many of them have a satisfaction: a rating on the known scale of their source.'),
  satisfaction: orNull(v.number(), 'The mean of these satisfactions, from 0 to 1. Null without any.'),
  bad: orNull(v.number(), 'The share of these satisfactions that are 0.4 or less. Null without any.'),
}
const feedbackFigures = about(v.object(FIGURES), 'Figures of all feedback that matches the filters.')
const countedTheme = about(
  records.schemaOf('theme', FIGURES),
  'A theme, with the figures of its feedback. Those of a merged theme are with the other one, and a hidden theme has none.',
)
const keyOf = (name: string, description: string) => [name, v.exactOptional(orNull(v.string(), description))] as const
const feedbackCount = about(
  v.object({
    ...Object.fromEntries(
      DIMENSION_NAMES.map((name) =>
        keyOf(
          name,
          `The ${name} of the group, if it is counted by: an id, text, date or number. Null for feedback without.`,
        ),
      ),
    ),
    ...Object.fromEntries(
      ['theme', 'project', 'account', 'customer'].map((name) => [
        `${name}Name`,
        v.exactOptional(about(v.string(), `The name of the ${name}, if it has one.`)),
      ]),
    ),
    ...FIGURES,
  }),
  'The figures of a group, with a member for each thing that is counted by. The value of a declared field is in a member such as `field.plan`.',
)

const scale = about(
  v.strictTuple([v.number(), v.number()]),
  'The ratings that mean "as bad as possible" and "as good as possible".',
)
const source = about(
  v.object({
    source: about(v.string(), 'The name of the source.'),
    feedback: number('The number of its feedback.'),
    ratings: number('All ratings that it has sent, also in feedback that was replaced or purged.'),
    leastRating: orNull(v.number(), 'The least of these ratings. Null without any.'),
    mostRating: orNull(v.number(), 'The greatest of these ratings. Null without any.'),
    scale: orNull(
      scale,
      'The ratings that mean "as bad as possible" and "as good as possible". Null: the scale is not known, or there is none.',
    ),
    isScaleGiven: about(
      v.boolean(),
      'Whether a person gave the scale, or said that there is none. Else 20 ratings show it.',
    ),
    link: orNull(v.string(), 'The address of a record in its source, with `{sourceId}` in place of its id.'),
    fields: list(declaredField, 'The fields that it declares.'),
  }),
  'A source of feedback, with its ratings and its settings.',
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
  Theme: records.theme,
  Alert: records.alert,
  Digest: records.digest,
  FeedbackCategory: records.feedbackCategory,
  StoredConversation: records.conversation,
  StoredMessage: records.message,
  FeedbackPage: pageOf('feedbacks', records.feedback, { unknownWords }),
  FeedbackFound: foundOf('feedback', records.feedback),
  CustomerPage: pageOf('customers', records.customer),
  CustomerFound: foundOf('customer', records.customer),
  AccountPage: pageOf('accounts', records.account),
  AccountFound: foundOf('account', records.account),
  ProjectPage: pageOf('projects', records.project),
  ProjectFound: foundOf('project', records.project),
  CountedTheme: countedTheme,
  ThemePage: pageOf('themes', countedTheme),
  ThemeFound: foundOf('theme', records.theme),
  AlertPage: pageOf('alerts', records.alert),
  AlertFound: foundOf('alert', records.alert),
  DigestPage: pageOf('digests', records.digest),
  DigestFound: foundOf('digest', records.digest),
  ThemeCreated: about(v.object({ themeId: about(v.string(), 'Own id of the new theme.') }), 'The theme was accepted.'),
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
  FeedbackFigures: feedbackFigures,
  FeedbackCount: feedbackCount,
  CountsPage: about(
    v.object({
      total: named(feedbackFigures, 'The figures of all feedback, on every page.'),
      counts: list(feedbackCount, 'The groups of this page.'),
      next,
      unknownWords,
    }),
    'A page of counts.',
  ),
  Source: source,
  SourcePage: about(v.object({ sources: list(source, 'The sources of this page.'), next }), 'A page.'),
  SourceFound: about(v.object({ source: named(source, 'The source.') }), 'One source.'),
  Change: records.change,
  ...records.CHANGES,
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
  themes: 'Theme',
  alerts: 'Alert',
  digests: 'Digest',
  'feedback-categories': 'FeedbackCategory',
  conversations: 'StoredConversation',
} as const satisfies Readonly<Record<Path, AnswerName>>
