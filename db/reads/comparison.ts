import type { Sql } from '../connection/postgres.ts'
import { BAD, type CountRequest, type Figures, over, rowsToCount } from './counts.ts'
import { type Dimension, partsOf } from './dimensions.ts'
import { currentFilters } from './filters.ts'
import { findUnknownWords } from './search.ts'

/** From the first time on, and before the second. */
export type ComparedSpan = { from: string; to: string }
/** Compares the feedback of two spans, in groups. `order`: the figure whose change is looked for. */
export type ComparisonRequest = Pick<CountRequest, 'workspaceId' | 'filters' | 'declared' | 'limit'> & {
  by: Dimension
  before: ComparedSpan
  after: ComparedSpan
  order: 'feedback' | 'satisfaction'
}
export type GroupChange = { key: string | null; name: string | null; before: Figures; after: Figures }
/**
 * `grows`: the groups whose figure is greater in the later span, the greatest change first.
 * `unknownWords`: if there is nothing to compare, the searched words that no text has.
 */
export type Comparison = {
  before: Figures
  after: Figures
  grows: GroupChange[]
  falls: GroupChange[]
  unknownWords: string[] | undefined
}

/** Compares groups of feedback of two spans. */
export const compareSpans = async (sql: Sql, request: ComparisonRequest): Promise<Comparison> => {
  const { workspaceId, by, filters, declared, limit, before, after, order } = request
  const { text, name } = partsOf(by, declared)
  const asked = await currentFilters(sql, { workspaceId, filters })
  const change = order === 'feedback' ? 'after_feedback - before_feedback' : 'after_satisfaction - before_satisfaction'
  const rows = await sql.unsafe<ComparisonRow[]>(
    `with x as (${rowsToCount({ by: [by], filters, declared }, `, ${isIn('$4', '$5')} as is_before, ${isIn('$6', '$7')} as is_after`)}),
    g as (select *, ${change} as change from (select k1, ${COMPARED_FIGURES} from x group by k1) as f),
    changed as (
      (select * from g where change > 0 order by change desc, k1 limit $3)
      union all
      (select * from g where change < 0 order by change, k1 limit $3)
    )
    select '-infinity'::float8 as place, 0::float8 as change, null as key, null as name, ${COMPARED_FIGURES} from x where is_first
    union all
    select -abs(change)::float8, change::float8, ${over(text, 0)}, ${over(name, 0)}, ${COMPARED_COLUMNS.join()} from changed
    order by place, key`,
    [workspaceId, sql.json(asked), limit, before.from, before.to, after.from, after.to],
  )
  const [all, ...groups] = rows.map(changeOf)
  const isEmpty = all!.before.feedback + all!.after.feedback === 0
  return {
    before: all!.before,
    after: all!.after,
    grows: groups.filter((_, at) => rows[at + 1]!.change > 0),
    falls: groups.filter((_, at) => rows[at + 1]!.change < 0),
    unknownWords: isEmpty ? await findUnknownWords(sql, { workspaceId, search: filters.q }) : undefined,
  }
}

type Prefixed<Prefix extends string> = { [Name in keyof Figures as `${Prefix}_${Name}`]: Figures[Name] }
export type ComparisonRow = { key: string | null; name: string | null; change: number } & Prefixed<'before'> &
  Prefixed<'after'>

export const isIn = (from: string, to: string): string =>
  `r.created_at >= ${from}::timestamptz and r.created_at < ${to}::timestamptz`

const figuresOf = (span: string): string => {
  const rated = `nullif(count(satisfaction) filter (where is_${span}), 0)::float8`
  return `count(*) filter (where is_${span})::float8 as ${span}_feedback,
    count(satisfaction) filter (where is_${span})::float8 as ${span}_rated,
    round((sum(satisfaction) filter (where is_${span}) / ${rated})::numeric, 4)::float8 as ${span}_satisfaction,
    round((count(*) filter (where is_${span} and satisfaction <= ${BAD}) / ${rated})::numeric, 4)::float8 as ${span}_bad`
}
export const COMPARED_FIGURES = `${figuresOf('before')}, ${figuresOf('after')}`
export const COMPARED_COLUMNS = ['before', 'after'].flatMap((span) =>
  ['feedback', 'rated', 'satisfaction', 'bad'].map((name) => `${span}_${name}`),
)

export const changeOf = (row: ComparisonRow): GroupChange => ({
  key: row.key,
  name: row.name,
  before: {
    feedback: row.before_feedback,
    rated: row.before_rated,
    satisfaction: row.before_satisfaction,
    bad: row.before_bad,
  },
  after: {
    feedback: row.after_feedback,
    rated: row.after_rated,
    satisfaction: row.after_satisfaction,
    bad: row.after_bad,
  },
})
