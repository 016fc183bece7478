import * as v from 'valibot'
import { feedbackFilters } from '../../contract/feedback-filters.ts'
import { identifier } from '../../contract/query-fields.ts'
import { type Dimension, DIMENSION_NAMES } from '../../db/reads/counts.ts'

const MOST_RECORDS = 20
const MOST_GROUPS = 100
const MOST_DIMENSIONS = 2

const wholeNumber = (most: number, usual: number) => {
  const expected = `a whole number from 1 to ${most}`
  const value = v.pipe(v.number(), v.integer(expected), v.minValue(1, expected), v.maxValue(most, expected))
  return v.optional(value, usual)
}

export const choice = <const Names extends readonly string[]>(names: Names) =>
  v.picklist(names, `one of ${names.join(', ')}`)

export const limit = wholeNumber(MOST_RECORDS, 10)
export const groupLimit = wholeNumber(MOST_GROUPS, 20)
export const next = v.optional(identifier('The `next` of the previous answer, with the same other arguments.'))
export const order = v.optional(choice(['newest', 'oldest']), 'newest')

/** The same filters in every tool. */
export const filters = v.optional(feedbackFilters, {})
export const of = v.optional(choice(['feedback', 'conversations']), 'feedback')

/** One dimension, or two. Commas may stand between them. */
export const dimensions = v.pipe(
  v.array(v.string()),
  v.description('One dimension, or two.'),
  v.metadata({ items: { type: 'string', enum: DIMENSION_NAMES }, minItems: 1, maxItems: MOST_DIMENSIONS }),
  v.transform((names) => [...new Set(names.flatMap((name) => name.split(/[\s,]+/)))]),
  v.check(
    (names) => names.length >= 1 && names.length <= MOST_DIMENSIONS && names.every(isDimension),
    `one or two of ${DIMENSION_NAMES.join(', ')}`,
  ),
  v.transform((names) => names as unknown as readonly [Dimension] | readonly [Dimension, Dimension]),
)

const isDimension = (name: string): boolean => (DIMENSION_NAMES as readonly string[]).includes(name)

const isTime = (name: Dimension): boolean => name === 'week' || name === 'month'
/** Two spans of time have no weeks to compare. */
export const comparedDimension = choice(DIMENSION_NAMES.filter((name) => !isTime(name)) as [Dimension, ...Dimension[]])
