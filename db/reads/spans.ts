import type { Sql } from '../connection/postgres.ts'
import {
  changeOf,
  COMPARED_COLUMNS,
  COMPARED_FIGURES,
  type ComparedSpan,
  type ComparisonRow,
  DAY_IN_SPANS,
  FIGURES_OF_SPANS,
  type GroupChange,
  IN_SPANS,
  IS_DAY_OF_SPANS,
} from './comparison.ts'
import { ADDED, type CountRequest, type Figures, rowsToCount } from './counts.ts'
import { type Dimension, partsOf } from './dimensions.ts'
import { currentFilters } from './filters.ts'
import { findUnknownWords } from './search.ts'
import { type DayDimension, daySums, isDayDimension, LATER, SUMMED } from './sums.ts'

/**
 * `feedback`: most in the later span. `growth`, `fall`: the greatest changes. `bad`: most bad ratings
 * in the later span. `worse`: whose satisfaction fell most. `contractValue`: of accounts.
 */
export type SpanOrder = 'feedback' | 'growth' | 'fall' | 'bad' | 'worse' | 'contractValue'
export type SpanUnit = 'day' | 'week' | 'month'

/**
 * `by`: a tag must stand alone, since it counts a feedback several times. `countsPeople`: whether the
 * numbers of customers are asked for; they cost most. `before` ends where `after` begins.
 */
export type SpansRequest = Pick<CountRequest, 'workspaceId' | 'filters' | 'declared' | 'limit'> & {
  by: readonly Dimension[]
  before: ComparedSpan
  after: ComparedSpan
  orders: readonly SpanOrder[]
  unit: SpanUnit
  countsPeople: boolean
}

export type SpanGroup = GroupChange & { contractValue: number | null }
/** `found`: how many groups there are. `groups`: the first ones in each of the orders, in no order. */
export type SpanGroups = { found: number; groups: SpanGroup[] }
/** A day, week or month. */
export type SpanStep = { key: string; before: Figures; after: Figures }
export type Spans = {
  before: Figures & { customers: number }
  after: Figures & { customers: number }
  /** In the order of `by`. */
  of: SpanGroups[]
  steps: SpanStep[]
  unknownWords: string[] | undefined
}

/**
 * Compares two spans in groups of several dimensions, and in steps. Without filters, the sums of days
 * answer all but accounts and people.
 */
export const readSpans = async (sql: Sql, request: SpansRequest): Promise<Spans> => {
  const { workspaceId, filters, before, after, by, limit } = request
  const bounded = { ...filters, createdFrom: before.from, createdTo: after.to }
  const rows = await sql.unsafe<SpanRow[]>(spansSql({ ...request, filters: bounded }, areSummed(request)), [
    workspaceId,
    sql.json(await currentFilters(sql, { workspaceId, filters: bounded })),
    limit,
    before.from,
    before.to,
    after.from,
    after.to,
  ])
  const totals = rows.find(({ at }) => at === TOTAL)!
  const total = changeOf(totals)
  const isEmpty = total.before.feedback + total.after.feedback === 0
  const groupsAt = (at: number): SpanRow[] => rows.filter((row) => row.at === at)
  return {
    before: { ...total.before, customers: totals.before_customers },
    after: { ...total.after, customers: totals.after_customers },
    of: by.map((_, at) => ({
      found: groupsAt(at)[0]?.found ?? 0,
      groups: groupsAt(at).map((row) => ({ ...changeOf(row), contractValue: row.value })),
    })),
    steps: groupsAt(STEP).map((row) => ({ ...changeOf(row), key: row.key! })),
    unknownWords: isEmpty ? await findUnknownWords(sql, { workspaceId, search: filters.q }) : undefined,
  }
}

const TOTAL = -2
const STEP = -1
/** `at`: the place of the dimension. */
type SpanRow = ComparisonRow & {
  at: number
  found: number
  value: number | null
  before_customers: number
  after_customers: number
}

const MS_PER_DAY = 86_400_000
const isWholeDay = (time: string): boolean => Date.parse(time) % MS_PER_DAY === 0
const areSummed = ({ by, filters, before, after }: SpansRequest): boolean =>
  Object.values(filters).every((filter) => filter === undefined) &&
  [before.from, after.from, after.to].every(isWholeDay) &&
  by.every((name) => name === 'account' || isDayDimension(name))

/**
 * `x`: the feedback to group; with sums, the feedback that they lack. `times`: the figures of each step.
 * `people`: the figures of each customer and account. All are figures of parts of the spans.
 */
const spansSql = (request: SpansRequest, isSummed: boolean): string => {
  const { by, unit } = request
  const stepOf = (time: string): string => `date_trunc('${unit}', ${time})`
  const days = { more: `${stepOf('r.period::timestamp')} as step, ${DAY_IN_SPANS}`, condition: IS_DAY_OF_SPANS }
  const orSums = (columns: string, name: DayDimension): string =>
    isSummed ? `union all select ${columns}, is_before, is_after, ${ADDED} from (${daySums(name, days)}) as d` : ''
  const own: Dimension[] = by.filter((name) => name !== 'account')
  const groups = by.map((name, at) => {
    const place = own.indexOf(name) + 1
    if (place === 0) return `of_${at} as (select account as k, is_before, is_after, ${ADDED} from people)`
    return `of_${at} as (select k${place} as k, ${FIGURES_OF_SPANS} from x group by k${place}, is_before, is_after
      ${isDayDimension(name) ? orSums('k', name) : ''})`
  })
  return `
    with ${isSummed ? `${SUMMED},` : ''}
    x as materialized (${rowsOf(request, own, { isSummed, step: stepOf(`r.created_at at time zone 'utc'`) })}),
    times as (select step, ${FIGURES_OF_SPANS} from x where is_first group by step, is_before, is_after ${orSums('step', 'source')}),
    people as materialized (${peopleOf(request)})
    ${groups.map((group) => `, ${group}`).join('\n')}
    select ${TOTAL} as at, 0 as found, null as key, null as name, null::float8 as value, ${COMPARED_FIGURES},
      (select count(distinct customer)::float8 from people where is_before) as before_customers,
      (select count(distinct customer)::float8 from people where is_after) as after_customers
    from times
    union all
    (select ${STEP}, 0, to_char(step, 'YYYY-MM-DD'), null, null, ${COMPARED_FIGURES}, 0, 0 from times group by step order by step)
    ${by.map((name, at) => `union all (${groupsSql(name, at, request)})`).join('\n')}`
}

const rowsOf = (
  { filters, declared }: SpansRequest,
  by: readonly Dimension[],
  { isSummed, step }: { isSummed: boolean; step: string },
): string => {
  const more = `, ${IN_SPANS}, ${step} as step`
  if (!isSummed) return rowsToCount({ by, filters, declared, themes: 'true' }, more)
  // Without the bounds of the spans, Postgres finds the few rows by their change position.
  return `select * from (${rowsToCount({ by, filters: {}, themes: 'true' }, more, LATER)} offset 0) as r
    where is_before or is_after`
}

/** Customers and accounts are too many for sums of days. */
const peopleOf = ({ by, filters, declared, countsPeople }: SpansRequest): string => {
  const ofAccounts = by.includes('account')
  if (!ofAccounts && !countsPeople)
    return 'select null::uuid as account, null::uuid as customer, true as is_before, true as is_after where false'
  const rows = rowsToCount(
    { by: ofAccounts ? ['customer', 'account'] : ['customer'], filters, declared },
    `, ${IN_SPANS}`,
  )
  return `select ${ofAccounts ? 'k2' : 'null::uuid'} as account, k1 as customer, ${FIGURES_OF_SPANS} from (${rows}) as r
    group by ${ofAccounts ? 'k1, k2' : 'k1'}, is_before, is_after`
}

const RANKS: Readonly<Record<SpanOrder, string>> = {
  feedback: 'after_feedback desc',
  growth: 'after_feedback - before_feedback desc',
  fall: 'before_feedback - after_feedback desc',
  bad: 'coalesce(after_bad * after_rated, 0) desc',
  worse: 'after_satisfaction - before_satisfaction nulls last',
  contractValue: 'value desc nulls last',
}

/** The groups of one dimension that come first in one of the orders. No hidden theme is a group. */
const groupsSql = (name: Dimension, at: number, { orders, declared }: SpansRequest): string => {
  const parts = partsOf(name, declared)
  const ranks = orders.map((order) => `row_number() over (order by ${RANKS[order]}, after_feedback desc, k)`)
  const value =
    name === 'account'
      ? '(select a.contract_value::float8 from account as a where a.workspace_id = $1 and a.id = g.k)'
      : 'null::float8'
  const isShown =
    name === 'theme'
      ? 'where not exists (select from theme as t where t.workspace_id = $1 and t.id = g.k and t.is_hidden)'
      : ''
  return `select ${at}, found::int, ${parts.text}, ${parts.name}, value, ${COMPARED_COLUMNS.join()}, 0, 0
    from (select v.*, count(*) over () as found, least(${ranks.join()}) as rank
      from (select g.*, ${value} as value
        from (select k, ${COMPARED_FIGURES} from of_${at} group by k) as g ${isShown}) as v) as r
    where rank <= $3`
}
