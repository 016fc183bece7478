import type { Sql } from '../connection/postgres.ts'
import { conversationsToCount } from './conversation-counts.ts'
import {
  type Dimension,
  type Dimensions,
  type DimensionParts,
  fieldsAmong,
  partsOf,
  THEME_SHOWN,
  themeJoins,
} from './dimensions.ts'
import { type DeclaredFields, hasOwners, OWNER_JOINS } from './field-values.ts'
import { conditionOf, currentFilters, type FeedbackFilters, SATISFACTION } from './filters.ts'
import type { CountedKind } from './records.ts'
import { findUnknownWords } from './search.ts'
import { CUSTOMER_JOIN, LATER, SUMMED, sumsFor, sumsToCount, TOTAL_OF_SUMS } from './sums.ts'

/** Satisfaction up to this is bad. */
export const BAD = 0.4

/**
 * `rated`: how many of the feedback have a satisfaction. `satisfaction`: their mean, and `bad` the
 * share of those with 0.4 or less; null without any.
 */
export type Figures = { feedback: number; rated: number; satisfaction: number | null; bad: number | null }

/** A key for each dimension, with its name; null for feedback without a value. */
export type Group = Figures & { keys: { key: string | null; name: string | null }[] }

export const ORDERS = ['feedback', 'satisfaction', 'bad', 'key'] as const
/** `contractValue`: the greatest first, if the first dimension is the account. */
type CountOrder = (typeof ORDERS)[number] | 'contractValue'

export type CountRequest = {
  workspaceId: string
  /** What is counted; feedback by default. */
  of?: CountedKind | undefined
  by: Dimensions
  filters: FeedbackFilters
  declared?: DeclaredFields | undefined
  /**
   * `feedback`: most first, the default. `satisfaction` and `bad`: the least content first. `key`: in
   * the order of the keys, the latest time first, which is the default for times.
   */
  order?: CountOrder | undefined
  limit: number
  /** The place of the last group of the previous page. */
  after?: GroupPlace | undefined
}
/** The place of a group in its order. */
export type GroupPlace = readonly [rank: number, ...keys: string[]]

/**
 * `groups`: how many there are. `next`: the place where the next page begins, if there is one.
 * `unknownWords`: if there is nothing to count, the searched words that no text has.
 */
export type FeedbackCounts = {
  total: Figures
  groups: number
  top: Group[]
  next: GroupPlace | undefined
  unknownWords?: string[] | undefined
}

/**
 * Counts feedback, in total and in groups. By tag, a feedback counts in the group of each of its tags.
 * A week or month without feedback between others has a group as well, if it is the only dimension.
 */
export const countFeedback = async (sql: Sql, request: CountRequest): Promise<FeedbackCounts> => {
  const { workspaceId, of, by, filters, declared, limit, after } = request
  const asked = await currentFilters(sql, { workspaceId, filters, of })
  const parts = by.map((name) => partsOf(name, declared))
  const keys = parts.map((_, at) => `k${at + 1}`)
  const texts = parts.map(({ text }, at) => `coalesce(${over(text, at)}, '')`)
  // `cut` leaves out most groups before their texts are made, which cost more than their figures.
  const rows = await sql.unsafe<CountRow[]>(
    `with ${groupsToAdd(request, keys.join())},
    placed as (select g.*, ${rankOf(request)} as rank from (${everyTime(parts)}) as g),
    whole as (${wholeOf(request)}),
    cut as (select rank from placed ${after ? 'where rank > $4::float8' : ''} order by rank limit 1 offset $3 - 1),
    shown as (
      select * from placed where rank <= coalesce((select rank from cut), 'infinity')
        ${after ? `and rank >= $4::float8 and (rank, ${texts.join()}) > ($4::float8, ${keys.map((_, at) => `$${at + 5}`).join()})` : ''}
      order by rank, ${texts.join()} limit $3
    )
    select ${figuresOf('w', 'all_')}, w.groups::float8, s.rank,
      ${parts.map(({ text, name }, at) => `${over(text, at)} as key_${at + 1}, ${over(name, at)} as name_${at + 1}`).join()},
      ${figuresOf('s', '')}
    from whole as w left join shown as s on true
    order by s.rank, ${texts.join()}`,
    [workspaceId, sql.json(asked), limit + 1, ...(after ?? [])],
  )
  const found = rows.filter(({ feedback }) => feedback !== null)
  const top = found.slice(0, limit)
  const last = found.length > limit ? top.at(-1) : undefined
  const { all_feedback: feedback, all_rated: rated, all_satisfaction: satisfaction, all_bad: bad, groups } = rows[0]!
  return {
    total: { feedback, rated, satisfaction, bad },
    groups,
    top: top.map((row) => groupOf(row, by)),
    unknownWords: feedback === 0 ? await findUnknownWords(sql, { workspaceId, search: filters.q, of }) : undefined,
    next: last && [last.rank, last.key_1 ?? '', ...(by.length > 1 ? [last.key_2 ?? ''] : [])],
  }
}

/** The columns of figures that `SUMS` adds up. */
export const ADDED = 'feedback, rated, total, bad'

/**
 * `counted`: the figures of the read rows, by group; `is_first`: they count in the total. `found`: the
 * groups. Where sums answer, only the feedback after them is read. One statement reads both, so it
 * counts the feedback of one moment.
 */
const groupsToAdd = (request: CountRequest, keys: string): string => {
  const { of, by } = request
  const sums = sumsFor(request)
  const rows = of === 'conversation' ? conversationsToCount(request) : rowsToCount(request, '', sums && LATER)
  return `${sums ? `${SUMMED},` : ''}
    counted as (select ${keys}, is_first, ${FIGURES} from (${rows}) as x group by ${keys}, is_first),
    found as (select ${keys}, ${SUMS} from (
      select ${keys}, ${ADDED} from counted ${sums ? `union all ${sumsToCount(by, sums)}` : ''}
    ) as a group by ${keys})`
}

/** The total. If each feedback counts in one group, the groups add up to it. */
const wholeOf = (request: CountRequest): string => {
  if (request.of !== 'conversation' && !request.by.includes('tag'))
    return `select ${SUMS}, count(*) as groups from placed`
  return `select ${SUMS}, (select count(*) from placed) as groups from (
    select ${ADDED} from counted where is_first ${sumsFor(request) ? `union all ${TOTAL_OF_SUMS}` : ''}
  ) as a`
}

type CountRow = {
  all_feedback: number
  all_rated: number
  all_satisfaction: number | null
  all_bad: number | null
  groups: number
  rank: number
  feedback: number | null
  rated: number
  satisfaction: number | null
  bad: number | null
  key_1: string | null
  name_1: string | null
  key_2?: string | null
  name_2?: string | null
}

const groupOf = (row: CountRow, by: Dimensions): Group => ({
  keys: [
    { key: row.key_1, name: row.name_1 },
    ...(by.length > 1 ? [{ key: row.key_2 ?? null, name: row.name_2 ?? null }] : []),
  ],
  feedback: row.feedback ?? 0,
  rated: row.rated,
  satisfaction: row.satisfaction,
  bad: row.bad,
})

/** SQL over the key of a dimension, which it calls `k`. */
export const over = (text: string, at: number): string => text.replaceAll(/\bk\b/g, `k${at + 1}`)

export const FIGURES = `count(*)::int as feedback, count(satisfaction)::int as rated, sum(satisfaction)::float8 as total,
  (count(*) filter (where satisfaction <= ${BAD}))::int as bad`

/** Adds up figures of groups. So the total needs no second pass over the rows. */
const SUMS = `coalesce(sum(feedback), 0) as feedback, coalesce(sum(rated), 0) as rated, sum(total)::float8 as total,
  coalesce(sum(bad), 0) as bad`

/** The figures of a row, with four decimals. */
const figuresOf = (of: string, prefix: string): string => {
  const ratio = (sum: string): string => `round((${of}.${sum} / nullif(${of}.rated, 0)::float8)::numeric, 4)::float8`
  return `${of}.feedback::float8 as ${prefix}feedback, ${of}.rated::float8 as ${prefix}rated,
    ${ratio('total')} as ${prefix}satisfaction, ${ratio('bad')} as ${prefix}bad`
}

type RowsToCount = Pick<CountRequest, 'filters' | 'declared'> & { by: readonly Dimension[]; themes?: string }

/**
 * The rows to count. Only tags give a feedback several rows; one of them is the first.
 * `$2::jsonb is not null` gives the filters a type, also if no condition uses them. `themes`: which
 * themes count, by theme.
 */
export const rowsToCount = (
  { by, filters, declared = [], themes = THEME_SHOWN }: RowsToCount,
  more = '',
  condition = 'true',
): string => {
  const isByTag = by.includes('tag')
  const fields = [...fieldsAmong(by), ...Object.keys(filters.fields ?? {})]
  const customer = by.includes('account') ? CUSTOMER_JOIN : ''
  return `
    select ${by.map((name, at) => `${partsOf(name, declared).key} as k${at + 1},`).join('')} ${SATISFACTION} as satisfaction,
      ${isByTag ? 'generate_subscripts(t.tags_or_null, 1) = 1' : 'true'} as is_first${more}
    from feedback as r ${hasOwners(fields, declared) ? OWNER_JOINS : customer}
    ${by.includes('theme') ? themeJoins('r.theme_id') : ''}
    left join source as s on s.workspace_id = r.workspace_id and s.source = r.source
    ${isByTag ? `cross join lateral (select coalesce(nullif(r.tags, '{}'), array[null])) as t (tags_or_null)` : ''}
    where r.workspace_id = $1::uuid and ($2::jsonb is not null) and (${conditionOf(filters, declared)}) and ${condition}
      ${by.includes('theme') ? `and ${themes}` : ''}`
}

/** The groups. If the only dimension is a time, every time from the first to the last has one. */
const everyTime = ([first, second]: readonly DimensionParts[]): string =>
  first?.every === undefined || second !== undefined
    ? 'select * from found'
    : `select k1, coalesce(f.feedback, 0) as feedback, coalesce(f.rated, 0) as rated, f.total, coalesce(f.bad, 0) as bad
      from (select generate_series(min(k1), max(k1), interval '${first.every}') as k1 from found) as w
      left join found as f using (k1)`

/** The number by which groups are ordered, the least first; then their keys decide. */
const rankOf = ({ by, order }: CountRequest): string => {
  const [first] = by
  const isTime = first === 'week' || first === 'month'
  switch (order ?? (isTime ? 'key' : 'feedback')) {
    case 'feedback':
      return '-g.feedback::float8'
    case 'satisfaction':
      return rounded('coalesce(g.total / nullif(g.rated, 0)::float8, 2)')
    case 'bad':
      return rounded('coalesce(-g.bad / nullif(g.rated, 0)::float8, 1)')
    case 'contractValue':
      return `coalesce(-(select a.contract_value from account as a where a.workspace_id = $1 and a.id = g.k1), 1)::float8`
    case 'key':
      return isTime ? '-extract(epoch from g.k1)::float8' : '0::float8'
  }
}

/** The last digits of a mean depend on the order in which Postgres reads, so a cursor leaves them out. */
const rounded = (rank: string): string => `round((${rank})::numeric, 9)::float8`
