import type { JsonObject } from '../../contract/json.ts'
import { CHANGES_PARAMETERS, DEFAULT_LIMIT, FEEDBACK_PARAMETERS, LIST_PARAMETERS } from '../reads/parameters.ts'
import { RESOURCES } from '../reads/reads.ts'
import { READ_EXAMPLES } from './reading-examples.ts'
import { headersOf, parametersOf, type ResponseHeader } from './headers.ts'
import { foundOf, pageOf } from './reading-schemas.ts'
import { refusalsOf, type TurnedAway } from './refusals.ts'

type ParameterText = { description: string; schema: JsonObject }
const text = (description: string, more: JsonObject = {}): ParameterText => ({
  description,
  schema: { type: 'string', ...more },
})
const ownId = (description: string): ParameterText => text(description, { format: 'uuid' })
const time = (description: string): ParameterText => text(description, { format: 'date-time' })
const rating = (description: string): ParameterText => ({ description, schema: { type: 'number' } })

/** The type requires an entry for each parameter. */
const PARAMETER_TEXTS: Readonly<Record<keyof typeof FEEDBACK_PARAMETERS, ParameterText>> = {
  limit: {
    description: 'The maximum number of records in a page.',
    schema: { type: 'integer', minimum: 1, maximum: 500, default: DEFAULT_LIMIT },
  },
  order: text('By `createdAt`, ties by id. Lists begin with the newest, messages with the oldest.', {
    enum: ['newest', 'oldest'],
  }),
  next: text('The `next` of the previous page, with the same filters and order.'),
  source: text('Records of this source.'),
  tag: {
    description: 'Records that carry this tag. Given several times, records that carry all of the tags.',
    schema: { type: 'array', items: { type: 'string' } },
  },
  customerId: ownId('Records of this contact. An id that was merged stands for the contact that absorbed it.'),
  accountId: ownId(
    'Records of this account. A record without an account belongs to the account of its contact. An id that was merged stands ' +
      'for the account that absorbed it.',
  ),
  projectId: ownId('Records about this project.'),
  ratingMin: rating('Records with at least this rating.'),
  ratingMax: rating('Records with at most this rating.'),
  createdFrom: time('Records given at this time or later.'),
  createdTo: time('Records given before this time.'),
  q: text('Words that all occur in the title or the description, in any case. Parts of words count.'),
}

const CHANGES_TEXTS: Readonly<Record<keyof typeof CHANGES_PARAMETERS, ParameterText>> = {
  after: text(
    'The `next` of the previous answer, or a position. Without it the feed begins with all existing records.',
  ),
  limit: PARAMETER_TEXTS.limit,
}

const inQuery = (
  texts: Readonly<Record<string, ParameterText>>,
  names: Readonly<Record<string, unknown>>,
): JsonObject[] => Object.keys(names).map((name) => ({ name, in: 'query', ...texts[name] }))

const EVERY_READ: readonly TurnedAway[] = ['Invalid', 'Unauthenticated', 'MayNotRead', 'Unforeseen', 'CannotRead']

type ReadText = {
  operationId: string
  summary: string
  description: string
  parameters: JsonObject[]
  schema: string
  headers?: readonly ResponseHeader[]
  refusals: readonly TurnedAway[]
}

const reading = ({ schema, headers = [], refusals, parameters, ...about }: ReadText): JsonObject => ({
  get: {
    tags: ['Reading'],
    ...about,
    parameters: [...parameters, ...parametersOf(['RequestId'])],
    responses: {
      200: {
        description: 'The requested records.',
        headers: headersOf(headers),
        content: {
          'application/json': {
            schema: { $ref: `#/components/schemas/${schema}` },
            example: READ_EXAMPLES[schema]!,
          },
        },
      },
      ...refusalsOf([...EVERY_READ, ...refusals]),
    },
  },
})

const capital = (name: string): string => `${name[0]!.toUpperCase()}${name.slice(1)}`
const words = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

const listOf = ({ path, many }: (typeof RESOURCES)[number]): JsonObject =>
  reading({
    operationId: `list${capital(many)}`,
    summary: `List ${words(many)}`,
    description:
      'A page of the list. `next` leads to the next one, and stays valid while records come and go: a record that stays is never ' +
      'skipped or repeated. A page can be shorter than `limit` before the end of the list: one call reads at most 4 MiB and, with a ' +
      'filter that no index serves, looks at 20,000 records at most.',
    parameters: inQuery(PARAMETER_TEXTS, path === 'feedbacks' ? FEEDBACK_PARAMETERS : LIST_PARAMETERS),
    schema: pageOf(path),
    refusals: [path === 'feedbacks' || path === 'conversations' ? 'WrongMethod' : 'OnlyGet'],
  })

const oneOf = ({ path, one }: (typeof RESOURCES)[number]): JsonObject =>
  reading({
    operationId: `get${capital(one)}`,
    summary: `Read one of the ${words(one)} records`,
    description:
      path === 'conversations'
        ? 'The conversation with a page of its messages.'
        : 'The record of an own id. An id that was merged leads to the record that absorbed it.',
    parameters: [
      ...parametersOf(['RecordId']),
      ...(path === 'conversations' ? inQuery(PARAMETER_TEXTS, LIST_PARAMETERS) : []),
    ],
    schema: foundOf(path),
    refusals: ['NoSuchRecord', 'OnlyGet'],
  })

const CHANGES = reading({
  operationId: 'listChanges',
  summary: 'Follow all changes',
  description:
    'All readable records and their changes, in one order. Positions grow strictly, and a reader that has read up to a position ' +
    'has missed nothing before it. A record that changed several times appears once, in its latest state. A removed record leaves a ' +
    'tombstone with its id. Send `next` as `after`. An answer that would be empty waits with `Prefer: wait=N`.',
  parameters: [...inQuery(CHANGES_TEXTS, CHANGES_PARAMETERS), ...parametersOf(['PreferWait'])],
  schema: 'ChangesPage',
  headers: ['Preference-Applied'],
  refusals: ['PositionExpired', 'OnlyGet'],
})

/** Reads, by their paths below the base path. */
export const PATHS_OF_READS: Readonly<Record<string, JsonObject>> = {
  ...Object.fromEntries(
    RESOURCES.flatMap((resource) => [
      [`/${resource.path}`, listOf(resource)],
      [`/${resource.path}/{id}`, oneOf(resource)],
    ]),
  ),
  '/changes': CHANGES,
}
