import type { Sql } from '../connection/postgres.ts'
import {
  changeOf,
  COMPARED_COLUMNS,
  COMPARED_FIGURES,
  type ComparedSpan,
  type ComparisonRow,
  type GroupChange,
  isIn,
} from './comparison.ts'
import { type CountRequest, type Figures, over, rowsToCount } from './counts.ts'
import { type Dimension, partsOf } from './dimensions.ts'
import { currentFilters } from './filters.ts'
import { findUnknownWords } from './search.ts'

/**
 * `feedback`: most in the later span. `growth`, `fall`: the greatest changes. `bad`: most bad ratings
 * in the later span. `worse`: whose satisfaction fell most. `contractValue`: of accounts.
 */
export type SpanOrder = 'feedback' | 'growth' | 'fall' | 'bad' | 'worse' | 'contractValue'
export type SpanUnit = 'day' | 'week' | 'month'

/** `by`: a tag must stand alone, since it counts a feedback several times. */
export type SpansRequest = Pick<CountRequest, 'workspaceId' | 'filters' | 'declared' | 'limit'> & {
  by: readonly Dimension[]
  before: ComparedSpan
  after: ComparedSpan
  orders: readonly SpanOrder[]
  unit: SpanUnit
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

/** Compares two spans in groups of several dimensions, and in steps. Reads the feedback once. */
export const readSpans = async (sql: Sql, request: SpansRequest): Promise<Spans> => {
  const { workspaceId, filters, before, after, by, limit } = request
  const bounds = { createdFrom: before.from, createdTo: after.to }
  const asked = await currentFilters(sql, { workspaceId, filters: { ...filters, ...bounds } })
  const rows = await sql.unsafe<SpanRow[]>(spansSql({ ...request, filters: { ...filters, ...bounds } }), [
    workspaceId,
    sql.json(asked),
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

const spansSql = ({ by, filters, declared, orders, unit }: SpansRequest): string => {
  const more = `, ${isIn('$4', '$5')} as is_before, ${isIn('$6', '$7')} as is_after, r.contact_id as customer,
    to_char(date_trunc('${unit}', r.created_at at time zone 'utc'), 'YYYY-MM-DD') as step`
  const keys = by.map((_, at) => `k${at + 1}`)
  const groups = by.length === 0 ? 'select null::bigint as g' : `select ${keys.join()}, grouping(${keys.join()}) as g`
  const sets = by.length === 0 ? '' : `group by grouping sets (${keys.map((key) => `(${key})`).join()})`
  return `
    with x as materialized (${rowsToCount({ by, filters, declared, themes: 'true' }, more)}),
    grouped as (${groups}, ${COMPARED_FIGURES} from x ${sets})
    select ${TOTAL} as at, 0 as found, null as key, null as name, null::float8 as value, ${COMPARED_FIGURES},
      count(distinct customer) filter (where is_before)::float8 as before_customers,
      count(distinct customer) filter (where is_after)::float8 as after_customers
    from x where is_first
    union all
    (select ${STEP}, 0, step, null, null, ${COMPARED_FIGURES}, 0, 0 from x where is_first group by step order by step)
    ${by.map((name, at) => `union all (${groupsSql(name, { at, of: by.length, orders, declared })})`).join('\n')}`
}

const RANKS: Readonly<Record<SpanOrder, string>> = {
  feedback: 'after_feedback desc',
  growth: 'after_feedback - before_feedback desc',
  fall: 'before_feedback - after_feedback desc',
  bad: 'coalesce(after_bad * after_rated, 0) desc',
  worse: 'after_satisfaction - before_satisfaction nulls last',
  contractValue: 'value desc nulls last',
}

type GroupsAsked = { at: number; of: number } & Pick<SpansRequest, 'orders' | 'declared'>

/** The groups of one dimension that come first in one of the orders. No hidden theme is a group. */
const groupsSql = (name: Dimension, { at, of, orders, declared }: GroupsAsked): string => {
  const parts = partsOf(name, declared)
  const key = `k${at + 1}`
  const ranks = orders.map((order) => `row_number() over (order by ${RANKS[order]}, after_feedback desc, ${key})`)
  const value =
    name === 'account'
      ? `(select a.contract_value::float8 from account as a where a.workspace_id = $1 and a.id = g.${key})`
      : 'null::float8'
  // `grouping` has a bit for each dimension that is not grouped, the last one in the lowest bit.
  const isOwn = `g.g = ${2 ** of - 1 - 2 ** (of - 1 - at)}`
  const isShown =
    name === 'theme'
      ? `and not exists (select from theme as t where t.workspace_id = $1 and t.id = g.${key} and t.is_hidden)`
      : ''
  return `select ${at}, found::int, ${over(parts.text, at)}, ${over(parts.name, at)}, value, ${COMPARED_COLUMNS.join()}, 0, 0
    from (select v.*, count(*) over () as found, least(${ranks.join()}) as rank
      from (select g.*, ${value} as value from grouped as g where ${isOwn} ${isShown}) as v) as r
    where rank <= $3`
}
