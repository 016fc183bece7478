import * as v from 'valibot'
import { feedbackFilters } from '../../contract/feedback-filters.ts'
import { identifier } from '../../contract/query-fields.ts'
import { type Dimension, DIMENSION_NAMES, isFixedDimension } from '../../db/reads/dimensions.ts'
import { withHashes } from '../../tagger/searched-words.ts'
import { isDimension } from '../reads/parameters.ts'

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
export const filters = v.optional(v.pipe(feedbackFilters, v.transform(withHashes)), {})
export const of = v.optional(choice(['feedback', 'conversations']), 'feedback')

const DIMENSIONS_AND_FIELDS = `${DIMENSION_NAMES.join(', ')}, field.NAME of a declared field`

/** One dimension, or two. Commas may stand between them. */
export const dimensions = v.pipe(
  v.array(v.string()),
  v.description('One dimension, or two; field.NAME is a declared field, such as field.plan.'),
  v.metadata({ items: { type: 'string', description: DIMENSIONS_AND_FIELDS }, minItems: 1, maxItems: MOST_DIMENSIONS }),
  v.transform((names) => [...new Set(names.flatMap((name) => name.split(/[\s,]+/)))]),
  v.check(
    (names) => names.length >= 1 && names.length <= MOST_DIMENSIONS && names.every(isDimension),
    `one or two of ${DIMENSIONS_AND_FIELDS}`,
  ),
  v.transform((names) => names as unknown as readonly [Dimension] | readonly [Dimension, Dimension]),
)

const COMPARED: readonly string[] = DIMENSION_NAMES.filter((name) => name !== 'week' && name !== 'month')
const COMPARED_AND_FIELDS = `${COMPARED.join(', ')}, or field.NAME of a declared field`
/** Two spans of time have no weeks to compare. */
export const comparedDimension = v.pipe(
  v.string(),
  v.description(`${COMPARED_AND_FIELDS}.`),
  v.check(
    (name) => isDimension(name) && (!isFixedDimension(name) || COMPARED.includes(name)),
    `one of ${COMPARED_AND_FIELDS}`,
  ),
  v.transform((name) => name as Dimension),
)
