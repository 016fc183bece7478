import type { JsonObject, JsonValue } from '../../contract/json.ts'
import {
  ANY_FIELD,
  CHANGES_PARAMETERS,
  COUNTS_PARAMETERS,
  FEEDBACK_PARAMETERS,
  LIST_PARAMETERS,
  type QuerySchema,
  REPEATABLE,
  SOURCES_PARAMETERS,
} from '../reads/parameters.ts'
import { ACCOUNT_PARAMETERS, CUSTOMER_PARAMETERS } from '../reads/look-ups.ts'
import { RESOURCES } from '../reads/reads.ts'
import { schemaOf } from './schemas.ts'
import { READ_EXAMPLES } from './reading-examples.ts'
import { REQUEST_EXAMPLES } from './examples.ts'
import { headersOf, parametersOf, type ResponseHeader } from './headers.ts'
import { RECORD_OF } from './answer-schemas.ts'
import { refusalsOf, type RefusalAnswerName } from './refusals.ts'

const inQuery = (parameters: QuerySchema): JsonObject[] =>
  Object.entries(parameters).map(([name, parameter]) => {
    const { description, ...schema } = schemaOf(parameter)
    if (name === ANY_FIELD) return fieldsInQuery(description!, schema)
    return {
      name,
      in: 'query',
      description: description!,
      schema: REPEATABLE.has(name) ? { type: 'array', items: schema } : schema,
    }
  })

/** Parameters with any names, as OpenAPI writes them: the members of an object. */
const fieldsInQuery = (description: JsonValue, schema: JsonObject): JsonObject => ({
  name: 'fields',
  in: 'query',
  description,
  style: 'form',
  explode: true,
  schema: { type: 'object', propertyNames: { pattern: '^field\\.' }, additionalProperties: schema },
})

const EVERY_READ: readonly RefusalAnswerName[] = [
  'Invalid',
  'Unauthenticated',
  'MayNotRead',
  'Unforeseen',
  'CannotRead',
]

type ReadText = {
  operationId: string
  summary: string
  description: string
  parameters: JsonObject[]
  schema: string
  headers?: readonly ResponseHeader[]
  refusals: readonly RefusalAnswerName[]
}

const readPath = ({ schema, headers = [], refusals, parameters, ...about }: ReadText): JsonObject => ({
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

/** The parameters of lists that have more than every list. */
const PARAMETERS_OF: Readonly<Record<string, QuerySchema>> = {
  feedbacks: FEEDBACK_PARAMETERS,
  customers: CUSTOMER_PARAMETERS,
  accounts: ACCOUNT_PARAMETERS,
}

const capital = (name: string): string => `${name[0]!.toUpperCase()}${name.slice(1)}`
const words = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

const listOf = ({ path, many }: (typeof RESOURCES)[number]): JsonObject =>
  readPath({
    operationId: `list${capital(many)}`,
    summary: `List ${words(many)}`,
    description:
      'A page of the list. `next` leads to the next page, and stays valid while records come and go: a record that keeps its `createdAt` ' +
      'is never skipped or repeated. A page can be shorter than `limit` before the end of the list: one call reads at most 4 MiB or one larger ' +
      'record, and with filters it looks at 20,000 records at most, with a phrase at 2,000 texts.',
    parameters: inQuery(PARAMETERS_OF[path] ?? LIST_PARAMETERS),
    schema: `${RECORD_OF[path]}Page`,
    refusals: [['feedbacks', 'conversations', 'themes'].includes(path) ? 'WrongMethod' : 'OnlyGet'],
  })

const oneOf = ({ path, one }: (typeof RESOURCES)[number]): JsonObject =>
  readPath({
    operationId: `get${capital(one)}`,
    summary: `Read one ${words(one)}`,
    description: DESCRIPTION_OF_ONE[path],
    parameters: [...parametersOf(['RecordId']), ...(path === 'conversations' ? inQuery(LIST_PARAMETERS) : [])],
    schema: `${RECORD_OF[path]}Found`,
    refusals: ['NoSuchRecord', path === 'feedbacks' || path === 'themes' ? 'WrongMethod' : 'OnlyGet'],
  })

const WITH_THIS_ID = 'The record with this own id.'
const ALSO_MERGED = `${WITH_THIS_ID} An id that was merged leads to the record that absorbed it.`
const DESCRIPTION_OF_ONE: Readonly<Record<(typeof RESOURCES)[number]['path'], string>> = {
  feedbacks: WITH_THIS_ID,
  customers: ALSO_MERGED,
  accounts: ALSO_MERGED,
  projects: WITH_THIS_ID,
  themes: WITH_THIS_ID,
  alerts: WITH_THIS_ID,
  digests: WITH_THIS_ID,
  'feedback-categories': WITH_THIS_ID,
  conversations: 'The conversation with a page of its messages.',
}

const CHANGES = readPath({
  operationId: 'listChanges',
  summary: 'Follow all changes',
  description:
    'All readable records and their changes, in one order. Change positions grow strictly: a consumer that has read up to a position ' +
    'has missed nothing before it. A record that changed several times may appear only once, in its latest state. A removed record ' +
    'leaves a tombstone with its id. Send `next` as `after`. With `Prefer: wait=N` an answer that would be empty waits for changes.',
  parameters: [...inQuery(CHANGES_PARAMETERS), ...parametersOf(['PreferWait'])],
  schema: 'ChangesPage',
  headers: ['Preference-Applied'],
  refusals: ['PositionExpired', 'OnlyGet'],
})

const COUNTS = readPath({
  operationId: 'countFeedback',
  summary: 'Count feedback',
  description:
    'Counts feedback in total, and in groups by one or two things. The mean satisfaction and the share of bad ratings only consider ratings on ' +
    'the known scale of their source (`GET /sources`). Ratings of other sources only count as feedback. A week begins on Monday, and times are in UTC. ' +
    'If the only thing to count by is week or month, one without feedback between others has a group as well.',
  parameters: inQuery(COUNTS_PARAMETERS).map((parameter) =>
    parameter['name'] === 'by' ? { ...parameter, required: true } : parameter,
  ),
  schema: 'CountsPage',
  refusals: ['OnlyGet'],
})

const SOURCES = readPath({
  operationId: 'listSources',
  summary: 'List sources',
  description: 'The sources with feedback or settings, by name, with their ratings and scales.',
  parameters: inQuery(SOURCES_PARAMETERS),
  schema: 'SourcePage',
  refusals: ['OnlyGet'],
})

const PUT_SOURCE: JsonObject = {
  put: {
    tags: ['Reading'],
    operationId: 'putSource',
    summary: 'Set the scale, the link and the fields of a source',
    description:
      'Replaces the settings of a source, which needs no feedback yet. They count for all its feedback at once. Requires an admin token.',
    parameters: parametersOf(['SourceName', 'PreferStrict', 'ContentEncoding', 'RequestId']),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/SourceSettings' },
          examples: REQUEST_EXAMPLES.SourceSettings,
        },
      },
    },
    responses: {
      200: {
        description: 'The source with its settings.',
        headers: headersOf(['Preference-Applied']),
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/SourceFound' },
            example: READ_EXAMPLES['SourceFound']!,
          },
        },
      },
      ...refusalsOf([
        'Invalid',
        'Unauthenticated',
        'NoAdmin',
        'OnlyPut',
        'TooSlow',
        'TooLarge',
        'NotJson',
        'Unforeseen',
        'CannotSet',
      ]),
    },
  },
}

/** Reads, by their paths below the base path. */
export const PATHS_OF_READS: Readonly<Record<string, JsonObject>> = {
  ...Object.fromEntries(
    RESOURCES.flatMap((resource) => [
      [`/${resource.path}`, listOf(resource)],
      [`/${resource.path}/{id}`, oneOf(resource)],
    ]),
  ),
  '/changes': CHANGES,
  '/counts': COUNTS,
  '/sources': SOURCES,
  '/sources/{source}': PUT_SOURCE,
}
