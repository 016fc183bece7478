import * as v from 'valibot'
import { endOfDay, isDateTime, postgresDateTime, startOfDay } from './date-time.ts'
import { MAX_AMOUNT, MAX_TAG_CHARACTERS } from './limits.ts'
import { identifier, ownId, textOfAtMost, words } from './query-fields.ts'

const MOST_TAGS = 10

const timeOr = (description: string, timeOfDay: (day: string) => string | undefined) =>
  v.pipe(
    v.string('a string'),
    v.description(description),
    v.transform((value) => timeOfDay(value) ?? value),
    v.check(isDateTime, 'a date such as 2026-01-31, or a date-time of RFC 3339 with an offset'),
    v.transform(postgresDateTime),
  )

/** The start of a span: a date, or a time. */
export const time = (description: string) => timeOr(description, startOfDay)
/** The end of a span: a date includes its day. */
export const endTime = (description: string) => timeOr(description, endOfDay)

const number = (description: string) =>
  v.pipe(
    v.number('a number'),
    v.minValue(-MAX_AMOUNT, 'a number'),
    v.maxValue(MAX_AMOUNT, 'a number'),
    v.description(description),
  )

const fieldText = v.pipe(
  v.union([v.string(), v.number(), v.boolean()], 'a text, a number, true or false'),
  v.transform(String),
)

export const tag = (description: string) => textOfAtMost(MAX_TAG_CHARACTERS, description)

/** A filter or dimension by a declared field, such as `field.plan`. */
export const FIELD_PREFIX = 'field.'

/** The filters of the list of feedback, in JSON, as agents and webhooks have them. */
export const FILTERS = {
  q: v.optional(
    words('Words that must all occur in a text, in any form. `"two words"`: in a row; `or` between two words: either.'),
  ),
  source: v.optional(identifier('The system that it came from, exactly as written there.')),
  tag: v.optional(
    v.pipe(
      v.array(tag('A tag, exactly as written.'), 'an array'),
      v.minLength(1, `1 to ${MOST_TAGS} tags`),
      v.maxLength(MOST_TAGS, `1 to ${MOST_TAGS} tags`),
      v.description('All of these tags.'),
    ),
  ),
  customerId: v.optional(ownId('Of this customer (person).')),
  accountId: v.optional(ownId('Of this account (company): its own, and that of its customers.')),
  projectId: v.optional(ownId('About this project (product).')),
  fields: v.optional(
    v.pipe(
      v.record(v.string(), fieldText, 'an object'),
      v.description('These values of declared fields, such as {"plan": "trial"}.'),
    ),
  ),
  ratingMin: v.optional(number('The rating or more. Give `source` too: sources have different scales.')),
  ratingMax: v.optional(number('The rating or less.')),
  satisfactionMin: v.optional(number('The satisfaction or more, from 0 to 1, comparable among all sources.')),
  satisfactionMax: v.optional(number('The satisfaction or less. At most 0.4 is bad.')),
  createdFrom: v.optional(time('A date, or a time such as 2026-01-31T09:30:00Z. In UTC.')),
  createdTo: v.optional(endTime('The same; a date includes its day.')),
} as const

const NAMES = Object.keys(FILTERS).join(', ')

export const feedbackFilters = v.pipe(
  v.strictObject(FILTERS, ({ expected }) => (expected === 'never' ? `one of the filters ${NAMES}` : 'an object')),
  v.description('What matches all of these filters.'),
)
/** Filters with the values that reads use. */
export type FilterValues = v.InferOutput<typeof feedbackFilters>
