import type { Dimension, Dimensions } from './dimensions.ts'
import type { CountedKind, FeedbackFilters } from './lists.ts'

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
const SUMS = {
  tag: ['tag'],
  project: ['project'],
  customer: ['customer', 'customer of account'],
  account: ['account', 'customer'],
} as const satisfies Partial<Record<Dimension, readonly string[]>>
const OF_TIME: readonly Dimension[] = ['source', 'week', 'month', 'rating']

const isSummed = (name: Dimension | undefined): name is keyof typeof SUMS => name !== undefined && name in SUMS

type Counted = { of?: CountedKind | undefined; by: Dimensions; filters: FeedbackFilters }

/** The dimensions of the sums that answer a count; undefined if none do. */
export const sumsFor = ({ of, by, filters }: Counted): readonly string[] | undefined => {
  if (of === 'conversation' || Object.values(filters).some((filter) => filter !== undefined)) return undefined
  if (by.every((name) => OF_TIME.includes(name))) return ['time']
  const [name, ...others] = by.toSorted((one, other) => Number(isSummed(other)) - Number(isSummed(one)))
  if (!isSummed(name) || !others.every((other) => OF_TIME.includes(other))) return undefined
  switch (others[0]) {
    case undefined:
    case 'source':
      return SUMS[name]
    case 'week':
    case 'month':
      return name === 'tag' || name === 'project' ? [`${name} and time`] : undefined
    default:
      return undefined
  }
}

const OWN_ID = 'nullif(r.key, no_key())'
const KEYS: Readonly<Partial<Record<Dimension, string>>> = {
  tag: 'r.tag',
  source: 'r.source',
  project: OWN_ID,
  customer: OWN_ID,
  account: `case when r.dimension = 'account' then r.key else c.account_id end`,
  week: `date_trunc('week', r.period::timestamp)`,
  month: `date_trunc('month', r.period::timestamp)`,
  rating: `nullif(r.rating, 'NaN')`,
}

/** The sums to count. Tags do not add up to the total, so this comes from the sums by time. */
export const sumsToCount = (by: Dimensions, sums: readonly string[]): string => {
  const isByTag = by.includes('tag')
  const isTime = `r.dimension = 'time'`
  const read = isByTag ? [...sums, 'time'] : sums
  const customer = by.includes('account')
    ? `left join contact as c on c.workspace_id = r.workspace_id and c.id = r.key and r.dimension = 'customer'`
    : ''
  return `
    select ${by.map((name, at) => `${KEYS[name]} as k${at + 1}`).join()}, ${isByTag ? `not ${isTime}` : 'true'} as is_grouped,
      ${isByTag ? isTime : 'true'} as is_first, r.feedback, r.rated, r.satisfaction::float8 as total, r.bad
    from feedback_sum as r ${customer}
    where r.workspace_id = $1 and r.dimension in (${read.map((sum) => `'${sum}'`).join()}) and (select up_to from summed) is not null`
}
