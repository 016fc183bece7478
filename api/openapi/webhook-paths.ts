import type { JsonObject } from '../../contract/json.ts'
import { REQUEST_EXAMPLES } from './examples.ts'
import { headersOf, parametersOf } from './headers.ts'
import { READ_EXAMPLES } from './reading-examples.ts'
import { refusalsOf, type RefusalAnswerName } from './refusals.ts'

type WebhookOperation = {
  operationId: string
  summary: string
  description: string
  status: 200 | 201
  schema: 'WebhookPage' | 'WebhookFound' | 'WebhookCreated' | 'WebhookDeleted'
  parameters: Parameters<typeof parametersOf>[0]
  refusals: readonly RefusalAnswerName[]
  more?: JsonObject
}

const operation = ({ status, schema, parameters, refusals, more, ...about }: WebhookOperation): JsonObject => ({
  tags: ['Reading'],
  ...about,
  parameters: parametersOf([...parameters, 'RequestId']),
  ...more,
  responses: {
    [status]: {
      description: about.summary,
      headers: headersOf(status === 201 ? ['Preference-Applied'] : []),
      content: {
        'application/json': { schema: { $ref: `#/components/schemas/${schema}` }, example: READ_EXAMPLES[schema]! },
      },
    },
    ...refusalsOf(['Invalid', 'Unauthenticated', 'NoAdmin', 'Unforeseen', 'CannotSet', ...refusals]),
  },
})

const CREATE = operation({
  operationId: 'createWebhook',
  summary: 'Create a webhook',
  description:
    'Posts the changes of the workspace to an address, each signed with the secret in this answer. The service refuses addresses outside ' +
    'the public internet. A repeated request creates a further webhook. Requires an admin token.',
  status: 201,
  schema: 'WebhookCreated',
  parameters: ['PreferStrict', 'ContentEncoding'],
  refusals: ['WrongMethod', 'TooSlow', 'TooLarge', 'NotJson'],
  more: {
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/WebhookSettings' },
          examples: REQUEST_EXAMPLES.WebhookSettings,
        },
      },
    },
  },
})

/** Paths of webhooks, below the base path. */
export const PATHS_OF_WEBHOOKS: Readonly<Record<string, JsonObject>> = {
  '/webhooks': {
    get: operation({
      operationId: 'listWebhooks',
      summary: 'List webhooks',
      description: 'All webhooks of the workspace, and how far each has come. Requires an admin token.',
      status: 200,
      schema: 'WebhookPage',
      parameters: [],
      refusals: ['WrongMethod'],
    }),
    post: CREATE,
  },
  '/webhooks/{id}': {
    get: operation({
      operationId: 'getWebhook',
      summary: 'Read one webhook',
      description: 'A webhook, and how far it has come. Requires an admin token.',
      status: 200,
      schema: 'WebhookFound',
      parameters: ['WebhookId'],
      refusals: ['NoSuchRecord', 'GetOrDelete'],
    }),
    delete: operation({
      operationId: 'deleteWebhook',
      summary: 'Delete a webhook',
      description: 'Ends the webhook. It posts nothing more. Requires an admin token.',
      status: 200,
      schema: 'WebhookDeleted',
      parameters: ['WebhookId'],
      refusals: ['NoSuchRecord', 'GetOrDelete'],
    }),
  },
}
