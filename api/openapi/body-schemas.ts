import { toJsonSchema, toJsonSchemaDefs, type ConversionConfig } from '@valibot/to-json-schema'
import type * as v from 'valibot'
import { type Batchable, IDEMPOTENCY_KEY } from '../../contract/batch-request.ts'
import { accountRecord, contactProperties, contactRecord } from '../../contract/contact-record.ts'
import { conversationRecord, messageRecord } from '../../contract/conversation-record.ts'
import { accountReference, contactReference, feedbackRecord, projectReference } from '../../contract/feedback-record.ts'
import { freeObject } from '../../contract/fields.ts'
import type { JsonObject } from '../../contract/json.ts'
import { MAX_BATCH_ITEMS, MAX_OBJECT_MEMBERS } from '../../contract/limits.ts'
import { purgeRequest } from '../../contract/purge-request.ts'

/** The schemas that validate request bodies, and the schemas of their named parts. */
export const BODIES = {
  FeedbackSubmission: feedbackRecord,
  ContactReference: contactReference,
  AccountReference: accountReference,
  ProjectReference: projectReference,
  ContactRecord: contactRecord,
  ContactProperties: contactProperties,
  AccountRecord: accountRecord,
  PurgeRequest: purgeRequest,
  Conversation: conversationRecord,
  Message: messageRecord,
  FreeObject: freeObject,
} as const
export type BodyName = keyof typeof BODIES

/** The bodies as JSON Schema 2020-12, which OpenAPI 3.1 uses unchanged. */
export const bodySchemas = (): JsonObject => {
  const definitions = toJsonSchemaDefs(BODIES, CONVERSION) as unknown as Record<BodyName, JsonObject>
  const { PurgeRequest, ...schemas } = definitions
  return { ...schemas, ...purgeSchemas(PurgeRequest), ...batchSchemas() }
}

/**
 * A purge needs one of two members. Each alternative lists all members, since generators of clients
 * make a type of each: a type without `source` would purge too much.
 */
const purgeSchemas = ({ description, ...purge }: JsonObject): JsonObject => {
  const properties = purge['properties'] as Record<string, JsonObject>
  const needing = (name: string, by: string, more?: JsonObject): JsonObject => ({
    description: `Which contacts to delete: by ${by}, and by the other member if it is present.`,
    ...purge,
    required: [name],
    properties: { ...properties, [name]: { ...properties[name], type: 'string', ...more } },
  })
  return {
    PurgeRequest: {
      description: description!,
      anyOf: [ref('PurgeById'), ref('PurgeByEmail')],
    },
    PurgeById: needing('id', 'the id that a source system gave the contact'),
    PurgeByEmail: needing('email', 'email', { pattern: '\\S' }),
  }
}

const ref = (name: string): { $ref: string } => ({ $ref: `#/components/schemas/${name}` })

/** Each kind of item has its own type, named by its operation. */
const batchSchemas = (): JsonObject => {
  const operations = Object.keys(ITEM_BODIES) as Batchable[]
  return {
    BatchRequest: {
      type: 'object',
      description: 'Submissions that are sent together. A purge cannot be one of them.',
      required: ['items'],
      properties: {
        items: {
          type: 'array',
          maxItems: MAX_BATCH_ITEMS,
          description: 'The service accepts them in this order.',
          items: ref('BatchItem'),
        },
      },
    },
    BatchItem: {
      description: 'A submission: an operation and its body.',
      oneOf: operations.map((operation) => ref(ITEM_BODIES[operation].item)),
      discriminator: {
        propertyName: 'operation',
        mapping: Object.fromEntries(operations.map((operation) => [operation, ref(ITEM_BODIES[operation].item).$ref])),
      },
    },
    ...Object.fromEntries(operations.map((operation) => [ITEM_BODIES[operation].item, itemSchema(operation)])),
  }
}

const itemSchema = (operation: Batchable): JsonObject => ({
  type: 'object',
  description: `An item of a batch: the operation ${operation} with its body.`,
  required: ['operation', 'body'],
  properties: {
    operation: { const: operation, description: 'Which operation it is.' },
    body: { ...ref(ITEM_BODIES[operation].body), description: 'The body of the operation.' },
    idempotencyKey: {
      type: 'string',
      pattern: IDEMPOTENCY_KEY.source,
      description: 'The same as the header `Idempotency-Key` of the operation, and the same set of keys.',
    },
  },
})

const ITEM_BODIES: Readonly<Record<Batchable, { item: string; body: BodyName }>> = {
  create_feedback: { item: 'FeedbackItem', body: 'FeedbackSubmission' },
  identify_contact: { item: 'ContactItem', body: 'ContactRecord' },
  identify_account: { item: 'AccountItem', body: 'AccountRecord' },
  submit_conversation: { item: 'ConversationItem', body: 'Conversation' },
}

/**
 * The conversion throws for an unknown kind of field, so none is added unnoticed. Metadata
 * (`fields.ts`) describes each ignored action but `finite`: JSON has no infinite numbers.
 */
const CONVERSION: ConversionConfig = {
  target: 'draft-2020-12',
  // An object's pipe begins with `unknown` and ends with the object. Nothing is transformed, so the
  // output is the input.
  typeMode: 'output',
  errorMode: 'throw',
  ignoreActions: ['check', 'raw_check', 'raw_transform', 'transform', 'finite'],
  overrideRef: ({ referenceId }) => ref(referenceId).$ref,
  overrideSchema: ({ valibotSchema, jsonSchema }) => {
    if (valibotSchema === freeObject) return { type: 'object', description: FREE, ...ANY_MEMBERS }
    // Generators of types treat a member with a default as required.
    if (valibotSchema.type === 'optional') return without('default', jsonSchema)
    if (jsonSchema.required?.length === 0) return without('required', jsonSchema)
    return valibotSchema.type === 'nullish' ? nullable(jsonSchema) : undefined
  },
  overrideAction: ({ valibotAction, jsonSchema }) => {
    if (valibotAction.type !== 'metadata') return undefined
    const { known, array, named, ...others } = jsonSchema as Converted & Described
    if (array !== undefined) return { ...converted(array, ITEMS), ...others }
    if (known !== undefined) return { ...converted(known), ...ANY_MEMBERS }
    return named === undefined ? undefined : others
  },
}

const FREE = 'Free key-value pairs, kept as they are given.'
const ANY_MEMBERS = { additionalProperties: true, maxProperties: MAX_OBJECT_MEMBERS } as const

type Converted = ReturnType<typeof toJsonSchema>

/** `[type, 'null']` is shorter than a choice, and code generators understand it best. */
const nullable = (choice: Converted): Converted | undefined => {
  const [inner] = choice.anyOf ?? []
  if (typeof inner !== 'object' || typeof inner.type !== 'string') return undefined
  return { ...inner, type: [inner.type, 'null'] }
}

const without = (name: keyof Converted, { [name]: _, ...others }: Converted): Converted => others

/** The items of lists that have a name of their own. */
const ITEMS = { ContactRecord: contactRecord, Message: messageRecord }

/** The schema of a parameter in a query. */
export const schemaOf = (parameter: v.GenericSchema): JsonObject => converted(parameter) as JsonObject

/** The metadata of `openObject` and `list` (`fields.ts`), which check their members themselves. */
type Described = { known?: v.GenericSchema; array?: v.GenericSchema; named?: readonly string[] }

const converted = (schema: v.GenericSchema, definitions?: Record<string, v.GenericSchema>): Converted => {
  const {
    $schema: _,
    $defs: __,
    ...rest
  } = toJsonSchema(schema, { ...CONVERSION, ...(definitions && { definitions }) })
  return rest
}
