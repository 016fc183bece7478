import { type Dimension, type Dimensions, THEME_SHOWN, themeJoins } from './dimensions.ts'
import type { FeedbackFilters } from './filters.ts'
import type { CountedKind } from './records.ts'

// The sums of feedback as SQL (db/functions/feedback-sums.sql).

/** Joins the contact `c` to feedback `r` without an account of its own. */
export const CUSTOMER_JOIN =
  'left join contact as c on c.workspace_id = r.workspace_id and c.id = r.contact_id and r.account_id is null'

/**
 * Up to which change position the sums have the feedback. Null if they are no use: they are being
 * removed, or a source has another scale now.
 */
export const SUMMED = `summed as (
  select case when not exists (
    select from source as s
    where s.workspace_id = $1 and (s.summed_low is distinct from s.scale_low or s.summed_high is distinct from s.scale_high)
  ) then g.summed_position end as up_to
  from workspace_progress as g where g.workspace_id = $1
)`

/** The condition of the feedback `r` that the sums lack. */
export const LATER = 'r.change_position > coalesce((select up_to from summed), 0)'

/** The sums in which each feedback counts once by this dimension, or once for each tag. */
const SUMS_BY = {
  tag: ['tag'],
  theme: ['theme'],
  kind: ['kind'],
  project: ['project'],
  customer: ['customer', 'customer of account'],
  account: ['account', 'customer'],
} as const satisfies Partial<Record<Dimension, readonly string[]>>
const OF_TIME: readonly Dimension[] = ['source', 'week', 'month', 'rating']

const isSummed = (name: Dimension | undefined): name is keyof typeof SUMS_BY => name !== undefined && name in SUMS_BY

type Counted = { of?: CountedKind | undefined; by: Dimensions; filters: FeedbackFilters }

/** The dimensions of the sums that answer a count; undefined if none do. */
export const sumsFor = ({ of, by, filters }: Counted): readonly string[] | undefined => {
  if (of === 'conversation' || Object.values(filters).some((filter) => filter !== undefined)) return undefined
  if (by.every((name) => OF_TIME.includes(name))) return ['time']
  const [name, ...others] = by.toSorted((one, other) => Number(isSummed(other)) - Number(isSummed(one)))
  if (!isSummed(name)) return undefined
  const [other] = others
  if (other === undefined || other === 'source') return SUMS_BY[name]
  const isBySpan = other === 'week' || other === 'month'
  if (!isBySpan || name === 'customer' || name === 'account') return undefined
  return [name === 'tag' ? 'tag and week' : `${name} and day`]
}

const OWN_ID = 'nullif(r.key, no_key())'
const KEYS: Readonly<Partial<Record<Dimension, string>>> = {
  tag: 'r.tag',
  theme: 'h.id',
  kind: 'r.tag',
  source: 'r.source',
  project: OWN_ID,
  customer: OWN_ID,
  account: `case when r.dimension = 'account' then r.key else c.account_id end`,
  week: `date_trunc('week', r.period::timestamp)`,
  month: `date_trunc('month', r.period::timestamp)`,
  rating: `nullif(r.rating, 'NaN')`,
}

/** The sums that have the figures of each day by this dimension. */
const OF_DAYS = {
  theme: 'theme and day',
  kind: 'kind and day',
  project: 'project and day',
  source: 'time',
} as const satisfies Partial<Record<Dimension, string>>
export type DayDimension = keyof typeof OF_DAYS
export const isDayDimension = (name: Dimension): name is DayDimension => Object.hasOwn(OF_DAYS, name)

const KEPT_FIGURES = 'r.feedback, r.rated, r.satisfaction::float8 as total, r.bad'
const sumsIn = (sums: readonly string[]): string =>
  `r.workspace_id = $1 and r.dimension in (${sums.map((sum) => `'${sum}'`).join()}) and (select up_to from summed) is not null`

/** The figures of groups, in parts. */
export const sumsToCount = (by: Dimensions, sums: readonly string[]): string => {
  const customer = by.includes('account')
    ? `left join contact as c on c.workspace_id = r.workspace_id and c.id = r.key and r.dimension = 'customer'`
    : ''
  const isByTheme = by.includes('theme')
  return `select ${by.map((name) => KEYS[name]).join()}, ${KEPT_FIGURES}
    from feedback_sum as r ${customer} ${isByTheme ? themeJoins('nullif(r.key, no_key())') : ''}
    where ${sumsIn(sums)} ${isByTheme ? `and ${THEME_SHOWN}` : ''}`
}

/** The figures of each day by this dimension, in parts. `period` is the day. */
export const daySums = (name: DayDimension, { more, condition }: { more: string; condition: string }): string => `
  select ${KEYS[name]} as k, ${more}, ${KEPT_FIGURES}
  from feedback_sum as r ${name === 'theme' ? themeJoins('nullif(r.key, no_key())') : ''}
  where ${sumsIn([OF_DAYS[name]])} and ${condition}`

/** The figures of all feedback, in parts: those of tags do not add up to them. */
export const TOTAL_OF_SUMS = `select ${KEPT_FIGURES} from feedback_sum as r where ${sumsIn(['time'])}`
