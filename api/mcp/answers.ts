import { type AccountRow, type FeedbackContext, MOST_JSON_CHARACTERS } from '../../db/reads/context.ts'
import type { Figures, Group } from '../../db/reads/counts.ts'
import type { Dimension, Dimensions } from '../../db/reads/dimensions.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { Feedback, StoredConversation, StoredMessage } from '../../contract/record-schemas.ts'
import { quoteOf, show, type Sight } from './quote.ts'

/** The most characters of a text in a list. A single feedback and a message show more. */
const LISTED_CHARACTERS = 600
const MESSAGE_CHARACTERS = 1_200
export const SINGLE_CHARACTERS = 8_000
const MOST_TAGS = 10
const MOST_LABEL_CHARACTERS = 512
const MOST_PERSONAL_CHARACTERS = 4_000

export const label = (text: string, sight: Sight): string => show(text, MOST_LABEL_CHARACTERS, sight).text

const labelOf = (text: string | null | undefined, sight: Sight): string | undefined =>
  text == null ? undefined : label(text, sight)

/** The members that have a value. */
export const definedMembers = <T extends object>(members: T): { [K in keyof T]: Exclude<T[K], null | undefined> } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value != null)) as never

/** A time in seconds: `2026-01-31T09:30:00Z`. */
export const shortTime = (time: string): string => time.replace(/\.\d+Z$/, 'Z')

const DECIMALS = 10_000
const rounded = (value: number | undefined): number | undefined =>
  value === undefined ? undefined : Math.round(value * DECIMALS) / DECIMALS

const tagsOf = (tags: readonly string[], sight: Sight) => ({
  tags: tags.slice(0, MOST_TAGS).map((tag) => label(tag, sight)),
  moreTags: tags.length > MOST_TAGS ? tags.length - MOST_TAGS : undefined,
})

/** `account` and `project` are names; without a name, the id. get_feedback has their ids. */
export const feedbackOf = (given: unknown, sight: Sight, most = LISTED_CHARACTERS) => {
  const { id, description, title, tags = [], ...record } = given as Feedback
  return definedMembers({
    id,
    createdAt: record.createdAt && shortTime(record.createdAt),
    source: label(record.source ?? '', sight),
    rating: record.rating,
    satisfaction: rounded(record.satisfaction),
    ...tagsOf(tags, sight),
    customer: personal(record.customerName, sight),
    account: labelOf(record.accountName, sight) ?? record.accountId,
    project: labelOf(record.projectName, sight) ?? record.projectId,
    fields: record.fields && fieldsOf(record.fields, sight),
    quote: quoteOf({ title, text: description }, most, sight),
  })
}

const fieldsOf = (fields: JsonObject, sight: Sight): JsonObject =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, typeof value === 'string' ? label(value, sight) : value]),
  )

type GroupKey = { key: string | null; name: string | null }
const OWN_KEYS: ReadonlySet<Dimension> = new Set(['account', 'customer', 'project', 'week', 'month', 'rating'])

/**
 * The key of a group under the name of its dimension, and the name of what an id means. Names of
 * people are for `read:personal` alone.
 */
export const keyOf = ({ key, name }: GroupKey, by: Dimension, sight: Sight): Record<string, string | null> => {
  const isSeen = name !== null && (by !== 'customer' || sight.readsPersonal)
  return {
    [by]: key === null || OWN_KEYS.has(by) ? key : label(key, sight),
    ...(isSeen && { [`${by}Name`]: label(name, sight) }),
  }
}

export const groupOf = ({ keys, ...numbers }: Group, by: Dimensions, sight: Sight): GroupShown => ({
  ...Object.fromEntries(keys.flatMap((key, at) => Object.entries(keyOf(key, by[at]!, sight)))),
  ...numbers,
})
export type GroupShown = Figures & Record<string, string | number | null>

/** A value that only a token with the scope `read:personal` sees. */
export const personal = (text: string | null | undefined, sight: Sight): string | undefined =>
  text != null && sight.readsPersonal ? show(text, MOST_PERSONAL_CHARACTERS, sight).text : undefined

/**
 * An object that only a token with the scope `read:personal` sees, as JSON. `isCut`: the JSON cannot
 * be parsed.
 */
export const personalObjectOf = (json: string | null, sight: Sight): { json: string; isCut: boolean } | undefined => {
  if (json === null || !sight.readsPersonal) return undefined
  const { text } = show(json, MOST_JSON_CHARACTERS, sight)
  // The `isCut` of `show` does not tell: `show` can replace several characters by one.
  return { json: text, isCut: [...json].length > MOST_JSON_CHARACTERS }
}

export const accountOf = ({ id, name, domain, contractValue, properties }: AccountRow, sight: Sight) =>
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
) =>
  definedMembers({
    id,
    feedback,
    name: personal(name, sight),
    email: personal(email, sight),
    properties: personalObjectOf(properties, sight),
  })

/** `customers`: how many take part. */
export const conversationOf = (given: unknown, sight: Sight) => {
  const { id, title = '', ...record } = given as StoredConversation
  return definedMembers({
    id,
    createdAt: shortTime(record.createdAt),
    source: label(record.source, sight),
    rating: record.rating,
    ...tagsOf(record.tags ?? [], sight),
    customers: record.customerIds.length,
    externalId: personal(record.externalId, sight),
    quote: quoteOf({ text: title }, LISTED_CHARACTERS, sight),
  })
}

export const messageOf = (given: unknown, sight: Sight) => {
  const { id, createdAt, incoming, content } = given as StoredMessage
  return {
    id,
    createdAt: shortTime(createdAt),
    from: incoming ? 'customer' : 'team',
    quote: quoteOf({ text: content }, MESSAGE_CHARACTERS, sight),
  }
}
