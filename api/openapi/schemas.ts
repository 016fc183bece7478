import { toJsonSchema, toJsonSchemaDefs, type ConversionConfig } from '@valibot/to-json-schema'
import * as v from 'valibot'
import { BATCHABLE, type Batchable, IDEMPOTENCY_KEY } from '../../contract/batch-request.ts'
import { accountRecord, contactProperties, contactRecord } from '../../contract/contact-record.ts'
import { conversationRecord, messageRecord } from '../../contract/conversation-record.ts'
import { newTheme, themeEditRequest } from '../../contract/theme-edit.ts'
import { correctionRequest } from '../../contract/correction.ts'
import { accountReference, contactReference, feedbackRecord, projectReference } from '../../contract/feedback-record.ts'
import { about, freeObject } from '../../contract/fields.ts'
import type { JsonObject } from '../../contract/json.ts'
import { MAX_BATCH_ITEMS, MAX_OBJECT_MEMBERS } from '../../contract/limits.ts'
import { purgeRequest } from '../../contract/purge-request.ts'
import { sourceSettings } from '../../contract/source-settings.ts'
import { ANSWERS } from './answer-schemas.ts'

const ref = (name: string): { $ref: string } => ({ $ref: `#/components/schemas/${name}` })

const itemOf = <O extends Batchable>(operation: O) =>
  about(
    v.object({
      operation: about(v.literal(operation), 'The operation of the item.'),
      body: about(
        v.lazy((): v.GenericSchema => BATCHABLE[operation]),
        'The body of the operation.',
      ),
      idempotencyKey: about(
        v.optional(v.pipe(v.string(), v.regex(IDEMPOTENCY_KEY))),
        'Works like the header `Idempotency-Key` of the operation, with the same set of keys.',
      ),
    }),
    `An item of a batch: the operation ${operation} with its body.`,
  )

const ITEMS = {
  FeedbackItem: itemOf('create_feedback'),
  ContactItem: itemOf('identify_contact'),
  AccountItem: itemOf('identify_account'),
  ConversationItem: itemOf('submit_conversation'),
}
const discriminator = {
  propertyName: 'operation',
  mapping: Object.fromEntries(
    Object.entries(ITEMS).map(([name, item]) => [item.entries.operation.literal, ref(name).$ref]),
  ),
}
const batchItem = about(
  v.pipe(v.variant('operation', Object.values(ITEMS)), v.metadata({ discriminator })),
  'A submission: an operation and its body.',
)
const batchRequest = about(
  v.object({
    items: about(
      v.pipe(v.array(batchItem), v.maxLength(MAX_BATCH_ITEMS)),
      'The submissions. The service accepts them in this order.',
    ),
  }),
  'Submissions that are sent together. Only creating feedback, identifying, and submitting conversations can be among them.',
)

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
  Correction: correctionRequest,
  NewTheme: newTheme,
  ThemeEdit: themeEditRequest,
  Conversation: conversationRecord,
  Message: messageRecord,
  FreeObject: freeObject,
  SourceSettings: sourceSettings,
} as const
export type BodyName = keyof typeof BODIES
const BATCH = { BatchRequest: batchRequest, BatchItem: batchItem, ...ITEMS }

/** The bodies and answers as JSON Schema 2020-12, which OpenAPI 3.1 uses unchanged. `more`: those of capabilities. */
export const schemas = (more: Readonly<Record<string, v.GenericSchema>>): JsonObject => {
  const named = { ...BODIES, ...BATCH, ...ANSWERS, ...more }
  const definitions = toJsonSchemaDefs(named, CONVERSION) as unknown as Record<keyof typeof named, JsonObject>
  const { PurgeRequest, ...others } = definitions
  return { ...others, ...purgeSchemas(PurgeRequest) }
}

/**
 * A purge needs one of two members. Each alternative lists all members, since generators of clients
 * make a type of each alternative: a type without `source` would purge too much.
 */
const purgeSchemas = ({ description, ...purge }: JsonObject): JsonObject => {
  const properties = purge['properties'] as Record<string, JsonObject>
  const needing = (name: string, which: string, more?: JsonObject): JsonObject => ({
    description: `Which contacts to delete: ${which}.`,
    ...purge,
    required: [name],
    properties: { ...properties, [name]: { ...properties[name], type: 'string', ...more } },
  })
  return {
    PurgeRequest: {
      description: description!,
      anyOf: [ref('PurgeById'), ref('PurgeByEmail')],
    },
    PurgeById: needing('id', 'all that match the `id`, and all that match the `email` if it is present'),
    PurgeByEmail: needing('email', 'all that match the `email`, and all that match the `id` if it is present', {
      pattern: '\\S',
    }),
  }
}

/**
 * The conversion throws for an unknown kind of field, so no such kind is added unnoticed. Metadata
 * (`fields.ts`) stands in for most ignored actions. `finite` needs none: JSON has no infinite
 * numbers.
 */
const CONVERSION: ConversionConfig = {
  target: 'draft-2020-12',
  // The pipe of an object begins with `unknown`, so only the output of the pipe has the members.
  typeMode: 'output',
  errorMode: 'throw',
  ignoreActions: ['check', 'raw_check', 'raw_transform', 'transform', 'finite', 'to_lower_case'],
  overrideRef: ({ referenceId }) => ref(referenceId).$ref,
  overrideSchema: ({ valibotSchema, jsonSchema }) => {
    if (valibotSchema === freeObject) return { type: 'object', description: FREE, ...ANY_MEMBERS }
    // Generators of types treat a member with a default as required.
    if (valibotSchema.type === 'optional') return without('default', jsonSchema)
    if (jsonSchema.required?.length === 0) return without('required', jsonSchema)
    if (valibotSchema.type === 'strict_tuple') return asArray(jsonSchema)
    if (valibotSchema.type === 'record') return without('propertyNames', jsonSchema)
    return ['nullish', 'nullable'].includes(valibotSchema.type) ? nullable(jsonSchema) : undefined
  },
  overrideAction: ({ valibotAction, jsonSchema }) => {
    if (valibotAction.type !== 'metadata') return undefined
    const { known, array, named, ...others } = jsonSchema as Converted & OwnMetadata
    if (array !== undefined) return { ...converted(array, LISTED), ...others }
    if (known !== undefined) return { ...converted(known), ...ANY_MEMBERS }
    return named === undefined ? undefined : others
  },
}

const FREE = 'Free key-value pairs. Any key is stored.'
const ANY_MEMBERS = { additionalProperties: true, maxProperties: MAX_OBJECT_MEMBERS } as const

type Converted = ReturnType<typeof toJsonSchema>

/** `[type, 'null']` is shorter than a choice, and code generators understand it best. */
const nullable = (choice: Converted): Converted | undefined => {
  const [inner] = choice.anyOf ?? []
  if (typeof inner !== 'object' || typeof inner.type !== 'string') return undefined
  return { ...inner, type: [inner.type, 'null'] }
}

/** A tuple of items of one kind. Few code generators know `prefixItems`. */
const asArray = ({ prefixItems = [], ...tuple }: Converted): Converted => ({
  ...tuple,
  items: prefixItems[0]!,
  maxItems: prefixItems.length,
})

const without = (name: keyof Converted, { [name]: _, ...others }: Converted): Converted => others

/** Items of lists whose schema has a name. */
const LISTED = { ContactRecord: contactRecord, Message: messageRecord }

/** The schema of a parameter or header. */
export const schemaOf = (schema: v.GenericSchema): JsonObject => converted(schema) as JsonObject

/**
 * The metadata of `fields.ts` that is no JSON Schema. `openObject` has `known` and `list` has
 * `array`, since both check their members themselves. `object` has `named`.
 */
type OwnMetadata = { known?: v.GenericSchema; array?: v.GenericSchema; named?: readonly string[] }

const converted = (schema: v.GenericSchema, definitions?: Record<string, v.GenericSchema>): Converted => {
  const {
    $schema: _,
    $defs: __,
    ...rest
  } = toJsonSchema(schema, { ...CONVERSION, ...(definitions && { definitions }) })
  return rest
}
