import * as v from 'valibot'
import { type AccountRow, type FeedbackContext, MOST_JSON_CHARACTERS } from '../../db/reads/context.ts'
import { type Dimension, type Dimensions, type Group, isFixedDimension } from '../../db/reads/counts.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { Feedback, StoredConversation, StoredMessage } from '../../contract/record-schemas.ts'
import { quoteOf, quoteSchema, show, type Sight } from './quote.ts'

/** The most characters of a text in a list. A single feedback and a message show more. */
const LISTED_CHARACTERS = 600
const MESSAGE_CHARACTERS = 1_200
export const SINGLE_CHARACTERS = 8_000
const MOST_TAGS = 10
const MOST_LABEL_CHARACTERS = 512
const MOST_PERSONAL_CHARACTERS = 4_000

export const nextPage = v.pipe(v.nullable(v.string()), v.description('Leads to the next page; null at the end.'))

export const figures = {
  feedback: v.number(),
  rated: v.pipe(v.number(), v.description('How many of these have a rating on a known scale.')),
  satisfaction: v.pipe(
    v.nullable(v.number()),
    v.description('Their mean satisfaction, from 0 (as bad as possible) to 1, on any scale of their sources.'),
  ),
  bad: v.pipe(v.nullable(v.number()), v.description('The share of these with a satisfaction of at most 0.4.')),
}

const scalar = v.union([v.string(), v.number(), v.boolean()])

export const feedbackItem = v.strictObject({
  id: v.string(),
  createdAt: v.string(),
  source: v.string(),
  rating: v.optional(v.number()),
  satisfaction: v.optional(v.number()),
  tags: v.array(v.string()),
  moreTags: v.optional(v.number()),
  customerId: v.optional(v.string()),
  accountId: v.optional(v.string()),
  accountName: v.optional(v.string()),
  projectId: v.optional(v.string()),
  projectName: v.optional(v.string()),
  fields: v.optional(v.record(v.string(), scalar)),
  quote: quoteSchema,
})
export const group = v.strictObject({
  key: v.pipe(
    v.nullable(v.string()),
    v.description('The value, or the id of the account or project. Null stands for feedback without a value.'),
  ),
  name: v.optional(v.string()),
  thenKey: v.optional(v.nullable(v.string())),
  thenName: v.optional(v.string()),
  ...figures,
})
export const groupChange = v.strictObject({
  key: v.nullable(v.string()),
  name: v.optional(v.string()),
  before: v.number(),
  after: v.number(),
})
export const personalObject = v.strictObject({
  json: v.pipe(v.string(), v.description(`At most ${MOST_JSON_CHARACTERS} characters of JSON.`)),
  isCut: v.pipe(v.boolean(), v.description('Whether the JSON is cut off, so that it cannot be parsed.')),
})
export const account = v.strictObject({
  id: v.string(),
  name: v.optional(v.string()),
  domain: v.optional(v.string()),
  contractValue: v.optional(v.number()),
  properties: v.optional(personalObject),
})
export const customer = v.strictObject({
  id: v.string(),
  feedback: v.number(),
  name: v.optional(v.string()),
  email: v.optional(v.string()),
  properties: v.optional(personalObject),
})

export const label = (text: string, sight: Sight): string => show(text, MOST_LABEL_CHARACTERS, sight).text

const labelOf = (text: string | null | undefined, sight: Sight): string | undefined =>
  text == null ? undefined : label(text, sight)

/** The members that have a value. */
export const definedMembers = <T extends object>(members: T): { [K in keyof T]: Exclude<T[K], null | undefined> } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value != null)) as never

export const feedbackOf = (
  given: unknown,
  sight: Sight,
  most = LISTED_CHARACTERS,
): v.InferOutput<typeof feedbackItem> => {
  const { id, description, title, tags = [], ...record } = given as Feedback
  const { createdAt, source = '', rating, satisfaction, customerId, accountId, projectId } = record
  return definedMembers({
    id,
    createdAt,
    source: label(source, sight),
    rating,
    satisfaction,
    tags: tags.slice(0, MOST_TAGS).map((tag) => label(tag, sight)),
    moreTags: tags.length > MOST_TAGS ? tags.length - MOST_TAGS : undefined,
    customerId,
    accountId,
    accountName: labelOf(record.accountName, sight),
    projectId,
    projectName: labelOf(record.projectName, sight),
    fields: record.fields && fieldsOf(record.fields, sight),
    quote: quoteOf({ kind: 'feedback', id, title, text: description }, most, sight),
  })
}

/** Postgres leaves out values that are neither texts nor numbers nor booleans. */
const fieldsOf = (fields: JsonObject, sight: Sight): Record<string, v.InferOutput<typeof scalar>> =>
  Object.fromEntries(
    Object.entries(fields as Record<string, v.InferOutput<typeof scalar>>).map(([name, value]) => [
      name,
      typeof value === 'string' ? label(value, sight) : value,
    ]),
  )

type GroupKey = { key: string | null; name: string | null }

/** Keys of groups are labels, ids, times or ratings. Names of people are for `read:personal` alone. */
export const keyOf = ({ key, name }: GroupKey, by: Dimension, sight: Sight): { key: string | null; name?: string } => {
  const isSeen = name !== null && (by !== 'customer' || sight.readsPersonal)
  const isLabel = by === 'tag' || by === 'source' || !isFixedDimension(by)
  return {
    key: key !== null && isLabel ? label(key, sight) : key,
    ...(isSeen && { name: label(name, sight) }),
  }
}

export const groupOf = ({ keys, ...numbers }: Group, by: Dimensions, sight: Sight): v.InferOutput<typeof group> => {
  const [first, second] = keys.map((key, at) => keyOf(key, by[at]!, sight))
  return {
    ...first!,
    ...(second && { thenKey: second.key, ...(second.name !== undefined && { thenName: second.name }) }),
    ...numbers,
  }
}

/** A value that only a token with the scope `read:personal` sees. */
export const personal = (text: string | null | undefined, sight: Sight): string | undefined =>
  text != null && sight.readsPersonal ? show(text, MOST_PERSONAL_CHARACTERS, sight).text : undefined

/** An object that only a token with the scope `read:personal` sees. */
export const personalObjectOf = (
  json: string | null,
  sight: Sight,
): v.InferOutput<typeof personalObject> | undefined => {
  if (json === null || !sight.readsPersonal) return undefined
  const { text } = show(json, MOST_JSON_CHARACTERS, sight)
  // The `isCut` of `show` does not tell: `show` can replace several characters by one.
  return { json: text, isCut: [...json].length > MOST_JSON_CHARACTERS }
}

export const accountOf = (
  { id, name, domain, contractValue, properties }: AccountRow,
  sight: Sight,
): v.InferOutput<typeof account> =>
  definedMembers({
    id,
    name: labelOf(name, sight),
    domain: labelOf(domain, sight),
    contractValue,
    properties: personalObjectOf(properties, sight),
  })

export const customerOf = (
  { id, feedback, name, email, properties }: NonNullable<FeedbackContext['customer']>,
  sight: Sight,
): v.InferOutput<typeof customer> =>
  definedMembers({
    id,
    feedback,
    name: personal(name, sight),
    email: personal(email, sight),
    properties: personalObjectOf(properties, sight),
  })

const MOST_CUSTOMERS = 20

export const conversationItem = v.strictObject({
  id: v.string(),
  createdAt: v.string(),
  source: v.string(),
  rating: v.optional(v.number()),
  tags: v.array(v.string()),
  customerIds: v.pipe(v.array(v.string()), v.description(`Ids of at most ${MOST_CUSTOMERS} customers.`)),
  externalId: v.optional(v.string()),
  quote: quoteSchema,
})
export const messageItem = v.strictObject({
  id: v.string(),
  createdAt: v.string(),
  from: v.picklist(['customer', 'team']),
  customerId: v.optional(v.string()),
  quote: quoteSchema,
})

export const conversationOf = (given: unknown, sight: Sight): v.InferOutput<typeof conversationItem> => {
  const { id, title = '', ...record } = given as StoredConversation
  return definedMembers({
    id,
    createdAt: record.createdAt,
    source: label(record.source, sight),
    rating: record.rating,
    tags: (record.tags ?? []).slice(0, MOST_TAGS).map((tag) => label(tag, sight)),
    customerIds: record.customerIds.slice(0, MOST_CUSTOMERS),
    externalId: personal(record.externalId, sight),
    quote: quoteOf({ kind: 'conversation', id, text: title }, LISTED_CHARACTERS, sight),
  })
}

export const messageOf = (given: unknown, sight: Sight): v.InferOutput<typeof messageItem> => {
  const { id, createdAt, incoming, content, customerId } = given as StoredMessage
  return definedMembers({
    id,
    createdAt,
    from: incoming ? ('customer' as const) : ('team' as const),
    customerId,
    quote: quoteOf({ kind: 'message', id, text: content }, MESSAGE_CHARACTERS, sight),
  })
}
