import * as v from 'valibot'
import { endOfDay, isDateTime, postgresDateTime, startOfDay } from '../../contract/date-time.ts'
import { MAX_AMOUNT, MAX_TAG_CHARACTERS } from '../../contract/limits.ts'
import type { FeedbackFilters } from '../../db/reads/lists.ts'
import { identifier, ownId, textOfAtMost, words } from '../reads/parameters.ts'

const MOST_RECORDS = 20
const MOST_GROUPS = 50
const MOST_TAGS = 10

const wholeNumber = (most: number, usual: number, description: string) => {
  const expected = `a whole number from 1 to ${most}`
  const value = v.pipe(v.number(), v.integer(expected), v.minValue(1, expected), v.maxValue(most, expected))
  return v.optional(v.pipe(value, v.description(description)), usual)
}

const timeOr = (description: string, day: string, timeOfDay: (day: string) => string | undefined) =>
  v.pipe(
    v.string(),
    v.description(
      `${description} A date such as 2026-01-31, meaning its ${day} in UTC, or a time such as 2026-01-31T09:30:00Z.`,
    ),
    v.transform((value) => timeOfDay(value) ?? value),
    v.check(isDateTime, 'an existing date, or a date-time of RFC 3339 with an offset'),
    v.transform(postgresDateTime),
  )

export const time = (description: string) => timeOr(description, 'start', startOfDay)

/** The end of a span: a date includes its day. */
export const endTime = (description: string) => timeOr(description, 'end', endOfDay)

const rating = (description: string) =>
  v.optional(
    v.pipe(
      v.number(),
      v.minValue(-MAX_AMOUNT, 'a rating'),
      v.maxValue(MAX_AMOUNT, 'a rating'),
      v.description(description),
    ),
  )

export const tag = textOfAtMost(MAX_TAG_CHARACTERS, 'A tag, exactly as count_feedback by tag has it.')
export const searchedWords = words(
  'Words that must all occur in title or description, in upper or lower case, also as parts of words. Try single words, and words of other languages.',
)

export const limit = wholeNumber(MOST_RECORDS, 10, 'The maximum number of listed records.')
export const groupLimit = wholeNumber(MOST_GROUPS, 20, 'The maximum number of groups in the answer.')
export const changeLimit = wholeNumber(MOST_GROUPS, 20, 'The maximum number of groups in `grows`, and in `falls`.')
export const days = wholeNumber(366, 28, 'The number of days of each of the two spans.')
export const next = v.optional(
  identifier('The `next` of the previous answer, for the next page. Send the same filters and order.'),
)
export const order = v.optional(
  v.pipe(v.picklist(['newest', 'oldest'], 'newest or oldest'), v.description('Which records come first.')),
  'newest',
)

export const span = {
  createdFrom: v.optional(time('Feedback from this time on.')),
  createdTo: v.optional(endTime('Feedback before this time.')),
}
export const ratings = {
  ratingMin: rating('Feedback with this rating or more. What 1 and 5 mean depends on the source.'),
  ratingMax: rating('Feedback with this rating or less.'),
  satisfactionMax: rating(
    'Feedback with this satisfaction or less, from 0 to 1: the same for all sources. At most 0.4 is bad.',
  ),
}
const fieldText = v.pipe(
  v.union([v.string(), v.number(), v.boolean()], 'a text, a number, true or false'),
  v.transform(String),
)

/** The filters for feedback, except words and times. Feedback must match all given filters. */
export const filters = {
  source: v.optional(identifier('The system that the feedback came from, exactly as count_feedback by source has it.')),
  tags: v.optional(
    v.pipe(
      v.array(tag),
      v.minLength(1, `1 to ${MOST_TAGS} tags`),
      v.maxLength(MOST_TAGS, `1 to ${MOST_TAGS} tags`),
      v.description('Feedback with all of these tags.'),
    ),
  ),
  customerId: v.optional(ownId('Feedback of this customer.')),
  accountId: v.optional(
    ownId('Feedback of this account (company). Feedback without an account belongs to the account of its customer.'),
  ),
  projectId: v.optional(ownId('Feedback about this project.')),
  fields: v.optional(
    v.pipe(
      v.record(v.string(), fieldText),
      v.description('Feedback with these values of declared fields, such as {"plan": "trial"}.'),
    ),
  ),
  ...ratings,
}

const allFilters = v.partial(v.object({ words: searchedWords, ...filters, ...span }))

export const filtersOf = (given: v.InferOutput<typeof allFilters>): FeedbackFilters => ({
  source: given.source,
  tag: given.tags,
  customerId: given.customerId,
  accountId: given.accountId,
  projectId: given.projectId,
  ratingMin: given.ratingMin,
  ratingMax: given.ratingMax,
  satisfactionMax: given.satisfactionMax,
  createdFrom: given.createdFrom,
  createdTo: given.createdTo,
  fields: given.fields,
  q: given.words,
})
