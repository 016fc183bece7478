import type { Sql } from '../connection/postgres.ts'
import { type CountRequest, FIGURES, type Figures, over, rowsToCount } from './counts.ts'
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
    `with x as (${rowsToCount({ by: [by], filters, declared }, `, ${IN_SPANS}`)}),
    g as (select *, ${change} as change from (
      select k1, ${COMPARED_FIGURES} from (select k1, ${FIGURES_OF_SPANS} from x group by k1, is_before, is_after) as p group by k1) as f),
    changed as (
      (select * from g where change > 0 order by change desc, k1 limit $3)
      union all
      (select * from g where change < 0 order by change, k1 limit $3)
    )
    select '-infinity'::float8 as place, 0::float8 as change, null as key, null as name, ${COMPARED_FIGURES}
    from (select ${FIGURES_OF_SPANS} from x where is_first group by is_before, is_after) as p
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

const inSpans = (time: string, [from, to, later, last]: readonly string[]): string =>
  `(${time} >= ${from} and ${time} < ${to}) as is_before, (${time} >= ${later} and ${time} < ${last}) as is_after`

const BOUNDS = ['$4::timestamptz', '$5::timestamptz', '$6::timestamptz', '$7::timestamptz']
/** In which spans the feedback `r` is. The bounds of the spans are $4 to $7. */
export const IN_SPANS = inSpans('r.created_at', BOUNDS)
const DAYS = BOUNDS.map((bound) => `(${bound} at time zone 'utc')::date`)
/** In which spans the day of the sum `r` is. */
export const DAY_IN_SPANS = inSpans('r.period', DAYS)
/** The day is in one of two spans that follow each other. */
export const IS_DAY_OF_SPANS = `r.period >= ${DAYS[0]} and r.period < ${DAYS[3]}`

/** The figures of rows of the same spans, in the columns of `FIGURES`. */
export const FIGURES_OF_SPANS = `is_before, is_after, ${FIGURES}`

const figuresOf = (span: string): string => {
  const sum = (name: string): string => `coalesce(sum(${name}) filter (where is_${span}), 0)::float8`
  const rated = `nullif(${sum('rated')}, 0)`
  return `${sum('feedback')} as ${span}_feedback, ${sum('rated')} as ${span}_rated,
    round((${sum('total')} / ${rated})::numeric, 4)::float8 as ${span}_satisfaction,
    round((${sum('bad')} / ${rated})::numeric, 4)::float8 as ${span}_bad`
}
/** Adds up the figures of parts of two spans. */
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
