import type { JsonObject } from '../../contract/json.ts'
import {
  CHANGES_PARAMETERS,
  FEEDBACK_PARAMETERS,
  LIST_PARAMETERS,
  type QuerySchema,
  REPEATABLE,
} from '../reads/parameters.ts'
import { RESOURCES } from '../reads/reads.ts'
import { schemaOf } from './schemas.ts'
import { READ_EXAMPLES } from './reading-examples.ts'
import { headersOf, parametersOf, type ResponseHeader } from './headers.ts'
import { RECORD_OF } from './answer-schemas.ts'
import { refusalsOf, type RefusalAnswerName } from './refusals.ts'

const inQuery = (parameters: QuerySchema): JsonObject[] =>
  Object.entries(parameters).map(([name, parameter]) => {
    const { description, ...schema } = schemaOf(parameter)
    return {
      name,
      in: 'query',
      description: description!,
      schema: REPEATABLE.has(name) ? { type: 'array', items: schema } : schema,
    }
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

const capital = (name: string): string => `${name[0]!.toUpperCase()}${name.slice(1)}`
const words = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

const listOf = ({ path, many }: (typeof RESOURCES)[number]): JsonObject =>
  readPath({
    operationId: `list${capital(many)}`,
    summary: `List ${words(many)}`,
    description:
      'A page of the list. `next` leads to the next page, and stays valid while records come and go: a record that keeps its `createdAt` ' +
      'is never skipped or repeated. A page can be shorter than `limit` before the end of the list: one call reads at most 4 MiB or one larger ' +
      'record, and with filters it looks at 20,000 records at most.',
    parameters: inQuery(path === 'feedbacks' ? FEEDBACK_PARAMETERS : LIST_PARAMETERS),
    schema: `${RECORD_OF[path]}Page`,
    refusals: [path === 'feedbacks' || path === 'conversations' ? 'WrongMethod' : 'OnlyGet'],
  })

const oneOf = ({ path, one }: (typeof RESOURCES)[number]): JsonObject =>
  readPath({
    operationId: `get${capital(one)}`,
    summary: `Read one ${words(one)}`,
    description: DESCRIPTION_OF_ONE[path],
    parameters: [...parametersOf(['RecordId']), ...(path === 'conversations' ? inQuery(LIST_PARAMETERS) : [])],
    schema: `${RECORD_OF[path]}Found`,
    refusals: ['NoSuchRecord', 'OnlyGet'],
  })

const WITH_THIS_ID = 'The record with this own id.'
const ALSO_MERGED = `${WITH_THIS_ID} An id that was merged leads to the record that absorbed it.`
const DESCRIPTION_OF_ONE: Readonly<Record<(typeof RESOURCES)[number]['path'], string>> = {
  feedbacks: WITH_THIS_ID,
  customers: ALSO_MERGED,
  accounts: ALSO_MERGED,
  projects: WITH_THIS_ID,
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
