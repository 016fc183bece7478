import * as v from 'valibot'
import { about } from './fields.ts'

// The records as reads answer them: Postgres makes their JSON (`db/functions/reads.sql`).

const text = (description: string) => about(v.string(), description)
const time = (description: string) => about(v.pipe(v.string(), v.metadata({ format: 'date-time' })), description)
const flag = (description: string) => about(v.boolean(), description)
const amount = (description: string) => about(v.number(), description)
const texts = (description: string) => about(v.array(v.string()), description)
export const anyObject = (description: string) =>
  about(
    v.pipe(v.record(v.string(), v.unknown()) as v.GenericSchema<object>, v.metadata({ additionalProperties: true })),
    description,
  )
const optional = v.exactOptional

export const feedback = about(
  v.object({
    id: text('Own id of the record. The same source and `sourceId` always give the same id.'),
    description: text('The text as it was submitted.'),
    customerId: optional(
      text(
        'Own id of the contact who gave the feedback. It resolves to this contact until a purge removes the contact. Left out when it ' +
          'cannot be determined in time: while the database is away, or while queued submissions may change it.',
      ),
    ),
    projectId: optional(text('Own id of the project. Left out when it cannot be determined in time.')),
    rating: optional(amount('The score as it was submitted.')),
    sourceId: optional(text('The id of the record in its source.')),
    sourceData: optional(anyObject('The source data, unflattened if the submission asked for it.')),
    // The answer of POST /feedbacks has no member below this line.
    title: optional(text('The heading.')),
    isTranscript: optional(flag('Whether the text is a transcript.')),
    tags: optional(texts('The submitted tags, or else the generated tags once they exist.')),
    tagsGenerated: optional(flag('Whether the tags are generated.')),
    source: optional(text('The system that the feedback comes from.')),
    accountId: optional(text('Own id of the account.')),
    createdAt: optional(time('The `createdAt` that was sent, or else `acceptedAt`.')),
    acceptedAt: optional(time('When it was first accepted.')),
    updatedAt: optional(time('When it was last accepted.')),
  }),
  'A feedback record. Members without a value are left out. The members after `sourceData` are present only where the record is read.',
)
export type Feedback = v.InferOutput<typeof feedback>

/** The last members of a customer and of an account. */
const COMMON = {
  externalIds: about(
    v.array(
      about(
        v.object({ source: text('The source system.'), id: text('The id in that system.') }),
        'An id in a source system.',
      ),
    ),
    'The external ids of the record.',
  ),
  properties: anyObject('Metadata.'),
  sourceCreatedAt: optional(time('The `$createdAt` that was sent.')),
  sourceUpdatedAt: optional(time('The `$updatedAt` that was sent.')),
  createdAt: time('When the first submission that stored values of it was accepted.'),
  updatedAt: time('When the last submission that changed it was accepted.'),
}

export const customer = about(
  v.object({
    id: text('Own id.'),
    name: optional(text('The name.')),
    email: optional(text('The email as it was sent.')),
    accountId: optional(text('Own id of its account.')),
    contractValue: optional(amount('`$contractValue`.')),
    ...COMMON,
  }),
  'A contact. Members without a value are left out, here and in all records.',
)

export const account = about(
  v.object({
    id: text('Own id.'),
    name: optional(text('The name.')),
    domain: optional(text('The domain as it was sent.')),
    contractValue: optional(amount('`$contractValue`.')),
    ...COMMON,
  }),
  'A company.',
)

export const project = about(
  v.object({
    id: text('Own id.'),
    name: text('The name.'),
    description: optional(text('A description.')),
    createdAt: time('When a submission first named it.'),
  }),
  'A project.',
)

export const feedbackCategory = about(
  v.object({ id: text('Own id.'), title: text('The tag.') }),
  'A tag of a feedback or conversation.',
)

export const conversation = about(
  v.object({
    id: text('Own id.'),
    title: optional(text('The title.')),
    source: text('Its source.'),
    externalId: text('Its id in the source.'),
    rating: optional(amount('The score.')),
    tags: optional(texts('Tags generated from its incoming messages, once they exist.')),
    customerIds: texts('Own ids of its contacts.'),
    properties: anyObject('Metadata.'),
    createdAt: time('The `createdAt` that was sent.'),
    updatedAt: optional(time('The `updatedAt` that was sent.')),
  }),
  'A conversation without its messages.',
)
export type StoredConversation = v.InferOutput<typeof conversation>

export const message = about(
  v.object({
    id: text('Own id.'),
    conversationId: text('Own id of its conversation.'),
    externalId: text('Its id in the conversation.'),
    incoming: flag('True if a customer or another outsider wrote the message.'),
    customerId: optional(text('Own id of the contact that sent it.')),
    content: text('The text.'),
    sourceUrl: optional(text('Address of the original message.')),
    rawData: anyObject('Its properties, including propagated properties of the conversation.'),
    createdAt: time('The `createdAt` that was sent.'),
  }),
  'A message of a conversation.',
)
export type StoredMessage = v.InferOutput<typeof message>

/** The readable kinds, with their names in the change feed. */
export const RECORD_KINDS = [
  'feedback',
  'customer',
  'account',
  'project',
  'feedback_category',
  'conversation',
  'message',
] as const

export const change = about(
  v.object({
    position: about(
      v.pipe(v.number(), v.integer(), v.minValue(1)),
      'The position of the change. Grows strictly in a workspace.',
    ),
    kind: about(v.picklist(RECORD_KINDS), 'The kind of the record.'),
    id: text('Own id of the record.'),
    deleted: flag('True if the record was removed.'),
    record: optional(anyObject('The record in its latest state, with the members that it has in lists.')),
    mergedInto: optional(text('Own id of the record that absorbed this one. Only for a merged customer or account.')),
  }),
  'A changed record, or the tombstone of a removed record.',
)
