import * as v from 'valibot'
import { feedbackFilters } from '../../contract/feedback-filters.ts'
import { about } from '../../contract/fields.ts'
import type { JsonObject } from '../../contract/json.ts'
import { webhookMessage } from '../../contract/record-schemas.ts'
import { WEBHOOK_FORMATS, webhookSettings } from '../../contract/webhook-settings.ts'
import { list, named, number, orNull } from '../openapi/answer-schemas.ts'
import { headersOf, idInPath, parametersOf } from '../openapi/headers.ts'
import type { OpenApiPart } from '../openapi/openapi-part.ts'
import { refusalsOf, type RefusalAnswerName } from '../openapi/refusals.ts'

const webhook = about(
  v.object({
    id: about(v.string(), 'The id of the webhook.'),
    url: about(v.string(), 'The address that the service posts changes to.'),
    state: about(
      v.picklist(['active', 'paused', 'failed', 'gone']),
      '`failed`: no delivery was confirmed for a day, or tombstones have expired. `gone`: the receiver answered 410.',
    ),
    kinds: orNull(v.array(v.string()), 'The kinds of records whose changes it gets. Null: all.'),
    filter: orNull(feedbackFilters, 'The filter of its feedback, as it was given.'),
    holdUntilTagged: about(v.boolean(), 'Whether feedback waits for its generated tags.'),
    format: about(v.picklist(WEBHOOK_FORMATS), 'The form of the messages.'),
    position: number('The change position that it has reached.'),
    isBehind: about(v.boolean(), 'Whether there are later changes.'),
    delivered: number('How many changes its receiver has confirmed.'),
    undelivered: number('How many changes before its position are not confirmed, or wait for tags.'),
    fault: orNull(v.string(), 'Why the latest deliveries failed. Null if they did not.'),
  }),
  'A webhook, and how far it has come.',
)

const ANSWERS = {
  Webhook: webhook,
  WebhookPage: about(v.object({ webhooks: list(webhook, 'All webhooks of the workspace.') }), 'All webhooks.'),
  WebhookFound: about(v.object({ webhook: named(webhook, 'The webhook.') }), 'One webhook.'),
  WebhookCreated: about(
    v.object({
      webhook: named(webhook, 'The webhook.'),
      secret: about(v.string(), 'Signs its messages. No other answer shows it.'),
    }),
    'A new webhook.',
  ),
  WebhookDeleted: about(v.object({ deleted: about(v.boolean(), 'Always true.') }), 'The webhook is deleted.'),
}

const WEBHOOK = {
  id: '0f8b2f4e-6c0d-4a57-9c2e-3f1d5f0a7b61',
  url: 'https://receiver.example/hooks',
  state: 'active',
  kinds: ['feedback'],
  filter: { source: 'Zendesk', satisfactionMax: 0.4 },
  holdUntilTagged: true,
  format: 'standard',
  position: 1769851800250002,
  isBehind: false,
  delivered: 812,
  undelivered: 0,
  fault: null,
}

/** An answer of each operation, by the name of its schema. */
const ANSWER_EXAMPLES: Readonly<Record<keyof typeof ANSWERS, JsonObject>> = {
  Webhook: WEBHOOK,
  WebhookPage: { webhooks: [WEBHOOK] },
  WebhookFound: { webhook: WEBHOOK },
  WebhookCreated: { webhook: WEBHOOK, secret: 'whsec_Zm9yIHRoZSBleGFtcGxlIG9ubHksIG5vdCBhIHNlY3JldA==' },
  WebhookDeleted: { deleted: true },
}

const SETTINGS_EXAMPLES = {
  everything: { summary: 'All changes from now on', value: { url: 'https://receiver.example/hooks' } },
  filtered: {
    summary: 'Bad feedback of a source, as one message each',
    value: {
      url: 'https://receiver.example/hooks',
      filter: { source: 'Zendesk', satisfactionMax: 0.4 },
      holdUntilTagged: true,
    },
  },
}

type WebhookOperation = {
  operationId: string
  summary: string
  description: string
  status: 200 | 201
  schema: Exclude<keyof typeof ANSWERS, 'Webhook'>
  parameters: readonly JsonObject[]
  refusals: readonly RefusalAnswerName[]
  /** The component of a 405. */
  wrongMethod: 'WrongMethod' | 'GetOrDelete'
  more?: JsonObject
}

const operation = ({
  status,
  schema,
  parameters,
  refusals,
  wrongMethod,
  more,
  ...texts
}: WebhookOperation): JsonObject => ({
  tags: ['Reading'],
  ...texts,
  parameters: [...parameters, ...parametersOf(['RequestId'])],
  ...more,
  responses: {
    [status]: {
      description: texts.summary,
      headers: headersOf(status === 201 ? ['Preference-Applied'] : []),
      content: {
        'application/json': { schema: { $ref: `#/components/schemas/${schema}` }, example: ANSWER_EXAMPLES[schema] },
      },
    },
    ...refusalsOf(['Invalid', 'Unauthenticated', 'NoAdmin', 'Unforeseen', 'CannotSet', ...refusals]),
    405: { $ref: `#/components/responses/${wrongMethod}` },
  },
})

const WEBHOOK_ID = { $ref: '#/components/parameters/WebhookId' }

const CREATE = operation({
  operationId: 'createWebhook',
  summary: 'Create a webhook',
  description:
    'Posts the changes of the workspace to an address, each signed with the secret in this answer. The service refuses addresses outside ' +
    'the public internet. A repeated request creates a further webhook. Requires an admin token.',
  status: 201,
  schema: 'WebhookCreated',
  parameters: parametersOf(['PreferStrict', 'ContentEncoding']),
  wrongMethod: 'WrongMethod',
  refusals: ['TooSlow', 'TooLarge', 'NotJson'],
  more: {
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/WebhookSettings' },
          examples: SETTINGS_EXAMPLES,
        },
      },
    },
  },
})

const PATHS = {
  '/webhooks': {
    get: operation({
      operationId: 'listWebhooks',
      summary: 'List webhooks',
      description: 'All webhooks of the workspace, and how far each has come. Requires an admin token.',
      status: 200,
      schema: 'WebhookPage',
      parameters: [],
      refusals: [],
      wrongMethod: 'WrongMethod',
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
      parameters: [WEBHOOK_ID],
      refusals: ['NoSuchRecord'],
      wrongMethod: 'GetOrDelete',
    }),
    delete: operation({
      operationId: 'deleteWebhook',
      summary: 'Delete a webhook',
      description: 'Ends the webhook. It posts nothing more. Requires an admin token.',
      status: 200,
      schema: 'WebhookDeleted',
      parameters: [WEBHOOK_ID],
      refusals: ['NoSuchRecord'],
      wrongMethod: 'GetOrDelete',
    }),
  },
}

const SENT = {
  change: {
    post: {
      operationId: 'receiveChange',
      summary: 'Receive a change',
      description:
        'The service sends each change of a record to the webhooks of its workspace, signed as Standard Webhooks says.',
      tags: ['Reading'],
      security: [],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { $ref: '#/components/schemas/WebhookMessage' } } },
      },
      responses: { '2XX': { description: 'The receiver has the message. Any other status repeats it later.' } },
    },
  },
}

export const WEBHOOK_REFERENCE: OpenApiPart = {
  paths: PATHS,
  webhooks: SENT,
  parameters: { WebhookId: idInPath('The id of the webhook.') },
  refusals: {
    GetOrDelete: {
      description: 'The path does not take this method.',
      examples: { 'GET and DELETE only': { refused: 'wrong-method', allow: 'GET, DELETE' } },
    },
  },
  schemas: {
    FeedbackFilters: feedbackFilters,
    WebhookSettings: webhookSettings,
    ...ANSWERS,
    WebhookMessage: webhookMessage,
  },
}
