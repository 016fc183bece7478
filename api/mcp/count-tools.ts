import * as v from 'valibot'
import { instantOf } from '../../contract/date-time.ts'
import {
  type Dimension,
  DIMENSION_NAMES,
  type FixedDimension,
  isFixedDimension,
  ORDERS,
} from '../../db/reads/counts.ts'
import { isRefusal } from '../http/refusal.ts'
import { feedbackItem, figures, group, groupChange } from './answers.ts'
import { compareForAgent, countForAgent, findFeedback } from './agent-read.ts'
import {
  changeLimit,
  days,
  endTime,
  filters,
  filtersOf,
  groupLimit,
  limit,
  searchedWords,
  span,
  time,
} from './inputs.ts'
import { isDimension } from '../reads/parameters.ts'
import { defineTool } from './tool.ts'

const MS_PER_DAY = 86_400_000
/** The earliest time of a feedback. */
const FIRST_TIME = Date.parse('0001-01-01T00:00:00Z')

/** One of these dimensions, or a declared field. */
const dimensionOf = (names: readonly FixedDimension[], description = '') => {
  const expected = `one of ${names.join(', ')}, or field.NAME for a declared field, such as field.plan`
  return v.pipe(
    v.string(),
    v.description(`${description}${capital(expected)}.`),
    v.check((name) => isDimension(name) && (!isFixedDimension(name) || names.includes(name)), expected),
    v.transform((name) => name as Dimension),
  )
}
const capital = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}`

export const countTool = defineTool({
  name: 'count_feedback',
  title: 'Count feedback',
  description:
    'Counts feedback that matches all given filters, with its satisfaction: in total, and by one dimension, or by one and ' +
    'then by another. Weeks begin on Monday, in UTC; by week or month the latest comes first, and a time without ' +
    'feedback between others has 0. By tag, a feedback counts once for each of its tags. Use the figures as they are, and ' +
    'do not estimate others.',
  input: v.strictObject({
    by: dimensionOf(DIMENSION_NAMES),
    thenBy: v.optional(dimensionOf(DIMENSION_NAMES, 'A second, other dimension. ')),
    order: v.optional(
      v.pipe(
        v.picklist(ORDERS, `one of ${ORDERS.join(', ')}`),
        v.description('feedback: most first. satisfaction: least first. bad: the greatest share of bad ratings first.'),
      ),
    ),
    words: v.optional(searchedWords),
    ...filters,
    ...span,
    limit: groupLimit,
  }),
  output: v.strictObject({
    ...figures,
    groups: v.array(group),
    moreGroups: v.pipe(v.number(), v.description('How many further groups there are.')),
  }),
  run: async (asked, { by, thenBy, order, limit: most, ...given }) => {
    const dimensions = thenBy === undefined || thenBy === by ? ([by] as const) : ([by, thenBy] as const)
    const counts = await countForAgent(asked, { by: dimensions, order, filters: filtersOf(given), limit: most })
    return isRefusal(counts) ? counts : { answer: counts, records: counts.feedback }
  },
})

const TOP_TAGS = 10

export const whatsNew = defineTool({
  name: 'whats_new',
  title: 'What is new since a time',
  description:
    'What customers have said since a time: the number of feedback records, their most frequent tags, and the newest ' +
    'feedback. compare_periods tells what has grown.',
  input: v.strictObject({ since: time('Feedback from this time on.'), limit }),
  output: v.strictObject({ ...figures, topTags: v.array(group), newest: v.array(feedbackItem) }),
  run: async (asked, { since, limit: most }) => {
    const wanted = filtersOf({ createdFrom: since })
    const counts = await countForAgent(asked, { by: ['tag'], filters: wanted, limit: TOP_TAGS })
    if (isRefusal(counts)) return counts
    const page = await findFeedback(asked, wanted, { limit: most })
    if (isRefusal(page)) return page
    const { groups: topTags, moreGroups: _, ...all } = counts
    return { answer: { ...all, topTags, newest: page.feedback }, records: counts.feedback }
  },
})

const spanCount = v.strictObject({ from: v.string(), to: v.string(), feedback: v.number() })
const changes = v.array(groupChange)
/** A week is itself a span of time, so it does not grow or fall. */
const COMPARED = DIMENSION_NAMES.filter((name) => name !== 'week' && name !== 'month')

export const comparePeriods = defineTool({
  name: 'compare_periods',
  title: 'What grows and what falls',
  description:
    'Compares two successive spans of the same length. Tells which tags, accounts, customers, projects, sources or ratings have ' +
    'more feedback in the later span, and which have less, the greatest changes first.',
  input: v.strictObject({
    by: dimensionOf(COMPARED),
    days,
    until: v.optional(endTime('The end of the later span; now if left out.')),
    words: v.optional(searchedWords),
    ...filters,
    limit: changeLimit,
  }),
  output: v.strictObject({ before: spanCount, after: spanCount, grows: changes, falls: changes }),
  run: async (asked, { by, days: length, until, limit: most, ...given }) => {
    const end = until === undefined ? asked.now().getTime() : instantOf(until) / 1_000
    const at = (spans: number): string =>
      new Date(Math.max(end - spans * length * MS_PER_DAY, FIRST_TIME)).toISOString()
    const [from, splitAt, to] = [at(2), at(1), at(0)]
    const wanted = filtersOf({ ...given, createdFrom: from, createdTo: to })
    const found = await compareForAgent(asked, { by, filters: wanted, limit: most, splitAt })
    if (isRefusal(found)) return found
    const before = { from, to: splitAt, feedback: found.before }
    const after = { from: splitAt, to, feedback: found.after }
    return { answer: { ...found, before, after }, records: found.before + found.after }
  },
})
