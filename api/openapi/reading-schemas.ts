import type { JsonObject } from '../../contract/json.ts'
import { RESOURCES } from '../reads/reads.ts'

/** An object all of whose members are required, unless fewer are named. */
export const object = (
  description: string,
  properties: JsonObject,
  required = Object.keys(properties),
): JsonObject => ({
  type: 'object',
  description,
  ...(required.length > 0 && { required }),
  properties,
})
export const text = (description: string, more: JsonObject = {}): JsonObject => ({
  type: 'string',
  description,
  ...more,
})
export const reference = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` })

const time = (description: string): JsonObject => text(description, { format: 'date-time' })
const anyObject = (description: string): JsonObject => ({ type: 'object', additionalProperties: true, description })
const amount = (description: string): JsonObject => ({ type: 'number', description })
const texts = (description: string): JsonObject => ({ type: 'array', items: { type: 'string' }, description })

const EXTERNAL_IDS: JsonObject = {
  type: 'array',
  items: object('An id in a source system.', {
    source: text('The source system.'),
    id: text('The id in that system.'),
  }),
  description: 'The external ids of the record.',
}
const PROPERTIES = anyObject('Metadata.')
const ABOUT = {
  externalIds: EXTERNAL_IDS,
  properties: PROPERTIES,
  sourceCreatedAt: time('`$createdAt` as it was sent.'),
  sourceUpdatedAt: time('`$updatedAt` as it was sent.'),
  createdAt: time('When it was first accepted.'),
  updatedAt: time('When it was last changed.'),
}

/** Members that a feedback has only where it is read. */
export const READ_FEEDBACK: JsonObject = {
  title: text('The heading.'),
  isTranscript: { type: 'boolean', description: 'Whether the text is a transcript.' },
  tags: texts('The tags that were submitted, else generated ones once they exist.'),
  tagsGenerated: { type: 'boolean', description: 'Whether the tags are generated.' },
  source: text('The system that the feedback comes from.'),
  accountId: text('Own id of the account.'),
  createdAt: time('When the customer gave it.'),
  acceptedAt: time('When it was first accepted.'),
  updatedAt: time('When it was last accepted.'),
}

const RECORDS = {
  Customer: object(
    'A contact. Members without a value are left out, here and in all records.',
    {
      id: text('Own id.'),
      name: text('The name.'),
      email: text('The email as it was sent.'),
      accountId: text('Own id of its account.'),
      contractValue: amount('`$contractValue`.'),
      ...ABOUT,
    },
    ['id', 'externalIds', 'properties', 'createdAt', 'updatedAt'],
  ),
  Account: object(
    'A company.',
    {
      id: text('Own id.'),
      name: text('The name.'),
      domain: text('The domain as it was sent.'),
      contractValue: amount('`$contractValue`.'),
      ...ABOUT,
    },
    ['id', 'externalIds', 'properties', 'createdAt', 'updatedAt'],
  ),
  Project: object(
    'A project.',
    {
      id: text('Own id.'),
      name: text('The name.'),
      description: text('A description.'),
      createdAt: time('When a submission first named it.'),
    },
    ['id', 'name', 'createdAt'],
  ),
  FeedbackCategory: object('A tag of a feedback or conversation.', { id: text('Own id.'), title: text('The tag.') }),
  StoredConversation: object(
    'A conversation without its messages.',
    {
      id: text('Own id.'),
      title: text('The title.'),
      source: text('Its source.'),
      externalId: text('Its id in the source.'),
      rating: amount('The score.'),
      tags: texts('Tags generated from its incoming messages, once they exist.'),
      customerIds: texts('Own ids of its contacts.'),
      properties: PROPERTIES,
      createdAt: time('As it was sent.'),
      updatedAt: time('As it was sent.'),
    },
    ['id', 'source', 'externalId', 'customerIds', 'properties', 'createdAt'],
  ),
  StoredMessage: object(
    'A message of a conversation.',
    {
      id: text('Own id.'),
      conversationId: text('Own id of its conversation.'),
      externalId: text('Its id in the conversation.'),
      incoming: { type: 'boolean', description: 'True if it came from a customer.' },
      customerId: text('Own id of the contact that sent it.'),
      content: text('The text.'),
      sourceUrl: text('Address of the original message.'),
      rawData: anyObject('Its properties, including propagated properties of the conversation.'),
      createdAt: time('As it was sent.'),
    },
    ['id', 'conversationId', 'externalId', 'incoming', 'content', 'rawData', 'createdAt'],
  ),
}

type RecordName = keyof typeof RECORDS | 'Feedback'
type Path = (typeof RESOURCES)[number]['path']

/** The schema of a record of each resource. */
export const RECORD_OF: Readonly<Record<Path, RecordName>> = {
  feedbacks: 'Feedback',
  customers: 'Customer',
  accounts: 'Account',
  projects: 'Project',
  'feedback-categories': 'FeedbackCategory',
  conversations: 'StoredConversation',
}

/** The names of the schemas of a page and of a single record. */
export const pageOf = (path: Path): string => `${RECORD_OF[path]}Page`
export const foundOf = (path: Path): string => `${RECORD_OF[path]}Found`

const next: JsonObject = {
  type: ['string', 'null'],
  description: 'The `next` for the following page; null at the end of the list.',
}
const listOf = (name: string, description: string): JsonObject => ({
  type: 'array',
  items: reference(name),
  description,
})
const MESSAGES = { messages: listOf('StoredMessage', 'The messages of this page.'), next }

const ANSWERS = Object.fromEntries(
  RESOURCES.flatMap(({ path, many, one }) => {
    const name = RECORD_OF[path]
    return [
      [pageOf(path), object('A page.', { [many]: listOf(name, 'The records of this page; it can be empty.'), next })],
      [
        foundOf(path),
        object('One record.', {
          [one]: { ...reference(name), description: 'The record.' },
          ...(path === 'conversations' && MESSAGES),
        }),
      ],
    ]
  }),
)

export const READING_SCHEMAS: JsonObject = {
  ...RECORDS,
  ...ANSWERS,
  ChangesPage: object('Changes in their order.', {
    changes: listOf('Change', 'The changes of this page.'),
    next: text('The value of `after` for the next request.'),
  }),
  Change: object(
    'A record that changed, or a tombstone of one that is gone.',
    {
      position: {
        type: 'integer',
        minimum: 1,
        description: 'The position of the change. Grows strictly in a workspace.',
      },
      kind: text('The kind of the record.', {
        enum: ['feedback', 'customer', 'account', 'project', 'feedback_category', 'conversation', 'message'],
      }),
      id: text('Own id of the record.'),
      deleted: { type: 'boolean', description: 'True if the record is gone.' },
      record: anyObject('The record in its latest state, with the members that it has in lists.'),
      mergedInto: text('Own id of the record that absorbed this one. Only for a merged customer or account.'),
    },
    ['position', 'kind', 'id', 'deleted'],
  ),
}
