import type { Sql } from '../connection/postgres.ts'
import { conditionOf, type FeedbackFilters } from './lists.ts'

/**
 * What feedback is counted by: for each, the key of a feedback as SQL over `r`, and the name that a
 * key stands for.
 */
const DIMENSIONS = {
  tag: { key: 'null::text', name: 'null::text' },
  week: {
    key: `to_char(date_trunc('week', r.created_at at time zone 'utc'), 'YYYY-MM-DD')`,
    name: 'null::text',
  },
  account: {
    key: `coalesce(r.account_id, (
      select c.account_id from contact as c where c.workspace_id = r.workspace_id and c.id = r.contact_id))::text`,
    name: '(select a.name from account as a where a.workspace_id = $1 and a.id = g.key::uuid)',
  },
  project: {
    key: 'r.project_id::text',
    name: '(select p.name from project as p where p.workspace_id = $1 and p.id = g.key::uuid)',
  },
  source: { key: 'r.source', name: 'null::text' },
  rating: { key: 'r.rating::text', name: 'null::text' },
} as const
export type Dimension = keyof typeof DIMENSIONS
export const DIMENSION_NAMES = Object.keys(DIMENSIONS) as [Dimension, ...Dimension[]]

type Asked = { workspaceId: string; by: Dimension; filters: FeedbackFilters; limit: number }

/** `key`: null for feedback that has none. */
export type Group = {
  key: string | null
  name: string | null
  feedback: number
  rated: number
  averageRating: number | null
}
export type Counts = Omit<Group, 'key' | 'name'> & { groups: number; top: Group[] }

/**
 * Counts feedback, in all and in groups: weeks with the latest first, all else with the largest
 * first. A feedback counts once for each of its tags.
 */
export const countFeedback = async (sql: Sql, { workspaceId, by, filters, limit }: Asked): Promise<Counts> => {
  const order = by === 'week' ? 'key desc' : 'feedback desc, key'
  const figures = `count(*)::float8 as feedback, count(rating)::float8 as rated,
    round(avg(rating)::numeric, 2)::float8 as average`
  const rows = await sql.unsafe<CountRow[]>(
    `${foundBy(by, filters)},
    g as (select key, ${figures} from keyed group by key),
    t as (select ${figures} from f)
    select t.feedback as all_feedback, t.rated as all_rated, t.average as all_average,
      (select count(*)::float8 from g) as groups, g.*, ${DIMENSIONS[by].name} as name
    from t left join (select * from g order by ${order} limit $3) as g on true order by ${order}`,
    [workspaceId, sql.json(filters), limit],
  )
  const { all_feedback, all_rated, all_average, groups } = rows[0]!
  return {
    feedback: all_feedback,
    rated: all_rated,
    averageRating: all_average,
    groups,
    top: rows.filter(({ feedback }) => feedback !== null).map(groupOf),
  }
}

type CountRow = { all_feedback: number; all_rated: number; all_average: number | null; groups: number } & {
  key: string | null
  name: string | null
  feedback: number | null
  rated: number
  average: number | null
}

const groupOf = ({ key, name, feedback, rated, average }: CountRow): Group => ({
  key,
  name,
  feedback: feedback ?? 0,
  rated,
  averageRating: average,
})

/** `f`: the feedback that matches. `keyed`: a row for each key of it. */
const foundBy = (by: Dimension, filters: FeedbackFilters): string => `
  with asked as (select $1::uuid as workspace_id, $2::jsonb as filters),
  f as materialized (
    select r.tags, r.rating, r.created_at, ${DIMENSIONS[by].key} as key from feedback as r
    where r.workspace_id = $1 and (${conditionOf(filters)})
  ),
  keyed as (${
    by === 'tag'
      ? 'select t.key, f.rating, f.created_at from f left join lateral (select distinct unnest(f.tags)) as t (key) on true'
      : 'select key, rating, created_at from f'
  })`

export type Change = { key: string | null; name: string | null; before: number; after: number }
export type Comparison = { before: number; after: number; grows: Change[]; falls: Change[] }

/**
 * What has more feedback, and what less, from a time on than before it. `filters` bound both spans.
 */
export const compareSpans = async (
  sql: Sql,
  { workspaceId, by, filters, limit, splitAt }: Asked & { splitAt: string },
): Promise<Comparison> => {
  const figures = `count(*) filter (where created_at < $4::timestamptz)::float8 as before,
    count(*) filter (where created_at >= $4::timestamptz)::float8 as after`
  const rows = await sql.unsafe<(Change & { all_before: number; all_after: number })[]>(
    `${foundBy(by, filters)},
    g as (select key, ${figures} from keyed group by key),
    changed as (
      (select * from g where after > before order by after - before desc, key limit $3)
      union all
      (select * from g where after < before order by after - before, key limit $3)
    )
    select t.before as all_before, t.after as all_after, g.*, ${DIMENSIONS[by].name} as name
    from (select ${figures} from f) as t left join changed as g on true
    order by abs(g.after - g.before) desc, g.key`,
    [workspaceId, sql.json(filters), limit, splitAt],
  )
  const changes = rows.map(({ key, name, before, after }) => ({ key, name, before, after }))
  return {
    before: rows[0]!.all_before,
    after: rows[0]!.all_after,
    grows: changes.filter(({ before, after }) => after > before),
    falls: changes.filter(({ before, after }) => after < before),
  }
}
