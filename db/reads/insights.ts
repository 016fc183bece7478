import type { Sql } from '../connection/postgres.ts'
import { conditionOf, currentFilters, type FeedbackFilters } from './lists.ts'

const FEEDBACK = (where: string): string => `feedback as r where ${where}`
/**
 * A row for each tag of a feedback, or one row without a tag. A join with `unnest` would take
 * longer. The condition stands inside, since Postgres does not move it below `unnest`.
 */
const FEEDBACK_BY_TAG = (where: string): string => `(
  select r.*, unnest(x.tags_or_null) as tag, generate_subscripts(x.tags_or_null, 1) as place
  from feedback as r cross join lateral (select coalesce(nullif(r.tags, '{}'), array[null])) as x (tags_or_null)
  where ${where}
) as r`
const FEEDBACK_AND_CUSTOMER = (where: string): string => `feedback as r left join contact as c
  on c.workspace_id = r.workspace_id and c.id = r.contact_id and r.account_id is null where ${where}`

/** Every week from the first to the last with feedback. A week without feedback counts 0. */
const EVERY_WEEK = `
  select key, coalesce(f.feedback, 0) as feedback, coalesce(f.rated, 0) as rated, f.total, f.all_feedback, f.all_rated, f.all_total
  from (select generate_series(min(key), max(key), interval '1 week') as key from found) as w left join found as f using (key)`

/**
 * The dimensions for counting feedback. `from`: the rows to count, for a condition. `key`: the
 * value by which rows are grouped. Only tags give a feedback several rows: `first` holds for one
 * row of each feedback. `text` and `name`: the key of a group `g` as text, and its name.
 */
const DIMENSIONS = {
  tag: { from: FEEDBACK_BY_TAG, key: 'r.tag', first: 'r.place = 1', text: 'g.key', name: 'null::text' },
  week: {
    from: FEEDBACK,
    key: `date_trunc('week', r.created_at at time zone 'utc')`,
    first: 'true',
    text: `to_char(g.key, 'YYYY-MM-DD')`,
    name: 'null::text',
  },
  account: {
    from: FEEDBACK_AND_CUSTOMER,
    key: 'coalesce(r.account_id, c.account_id)',
    first: 'true',
    text: 'g.key::text',
    name: '(select a.name from account as a where a.workspace_id = $1 and a.id = g.key)',
  },
  project: {
    from: FEEDBACK,
    key: 'r.project_id',
    first: 'true',
    text: 'g.key::text',
    name: '(select p.name from project as p where p.workspace_id = $1 and p.id = g.key)',
  },
  source: { from: FEEDBACK, key: 'r.source', first: 'true', text: 'g.key', name: 'null::text' },
  rating: { from: FEEDBACK, key: 'r.rating', first: 'true', text: 'g.key::text', name: 'null::text' },
} as const
export type Dimension = keyof typeof DIMENSIONS
export const DIMENSION_NAMES = Object.keys(DIMENSIONS) as [Dimension, ...Dimension[]]

export type GroupRequest = { workspaceId: string; by: Dimension; filters: FeedbackFilters; limit: number }
/** Compares the feedback before `splitAt` with the feedback from then on. */
export type ComparisonRequest = GroupRequest & { splitAt: string }

/** `key`: null for feedback without a value. */
type Group = {
  key: string | null
  name: string | null
  feedback: number
  rated: number
  averageRating: number | null
}
export type FeedbackCounts = Omit<Group, 'key' | 'name'> & { groups: number; top: Group[] }

/**
 * Counts feedback, in total and in groups: weeks with the latest first, all other groups with the
 * largest first. By tag, a feedback counts in the group of each of its tags. Between the first and
 * the last week with feedback, a week without has a group as well.
 */
export const countFeedback = async (
  sql: Sql,
  { workspaceId, by, filters, limit }: GroupRequest,
): Promise<FeedbackCounts> => {
  const { first, text, name } = DIMENSIONS[by]
  const asked = await currentFilters(sql, workspaceId, filters)
  const order = by === 'week' ? 'g.key desc' : 'g.feedback desc, g.key'
  const rows = await sql.unsafe<CountRow[]>(
    `with found as (
      ${groupsOf(
        { by, filters },
        `count(*) as feedback, count(r.rating) as rated, sum(r.rating) as total,
        count(*) filter (where ${first}) as all_feedback, count(r.rating) filter (where ${first}) as all_rated,
        sum(r.rating) filter (where ${first}) as all_total`,
      )}
    ),
    g as (${by === 'week' ? EVERY_WEEK : 'select * from found'}),
    whole as (
      select coalesce(sum(all_feedback), 0) as feedback, coalesce(sum(all_rated), 0) as rated, sum(all_total) as total,
        count(*) as groups from g
    )
    select w.feedback::float8 as all_feedback, w.rated::float8 as all_rated, ${average('w')} as all_average,
      w.groups::float8, ${text} as key, ${name} as name, g.feedback::float8, g.rated::float8, ${average('g')} as average
    from whole as w left join (select * from g order by ${order} limit $3) as g on true
    order by ${order}`,
    [workspaceId, sql.json(asked), limit],
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

/** The average rating of a group or in total, with two decimals. */
const average = (of: 'g' | 'w'): string => `round((${of}.total / nullif(${of}.rated, 0))::numeric, 2)::float8`

/**
 * A row for each key of the matching feedback, with these figures. `$2::jsonb is not null` gives
 * the filters a type, also if no condition uses them.
 */
const groupsOf = ({ by, filters }: Pick<GroupRequest, 'by' | 'filters'>, figures: string): string => `
  select ${DIMENSIONS[by].key} as key, ${figures}
  from ${DIMENSIONS[by].from(`r.workspace_id = $1::uuid and ($2::jsonb is not null) and (${conditionOf(filters)})`)}
  group by 1`

export type GroupChange = { key: string | null; name: string | null; before: number; after: number }
export type Comparison = { before: number; after: number; grows: GroupChange[]; falls: GroupChange[] }

/** Compares the feedback of groups before and after a time. `filters` bound both spans. */
export const compareSpans = async (
  sql: Sql,
  { workspaceId, by, filters, limit, splitAt }: ComparisonRequest,
): Promise<Comparison> => {
  const { first, text, name } = DIMENSIONS[by]
  const asked = await currentFilters(sql, workspaceId, filters)
  const isBefore = 'r.created_at < $4::timestamptz'
  const rows = await sql.unsafe<(GroupChange & { all_before: number; all_after: number })[]>(
    `with g as (
      ${groupsOf(
        { by, filters },
        `count(*) filter (where ${isBefore}) as before, count(*) filter (where not ${isBefore}) as after,
        count(*) filter (where ${first} and ${isBefore}) as all_before,
        count(*) filter (where ${first} and not ${isBefore}) as all_after`,
      )}
    ),
    changed as (
      (select * from g where after > before order by after - before desc, key limit $3)
      union all
      (select * from g where after < before order by after - before, key limit $3)
    )
    select w.*, ${text} as key, ${name} as name, g.before::float8, g.after::float8
    from (
      select coalesce(sum(all_before), 0)::float8 as all_before, coalesce(sum(all_after), 0)::float8 as all_after from g
    ) as w left join changed as g on true
    order by abs(g.after - g.before) desc, g.key`,
    [workspaceId, sql.json(asked), limit, splitAt],
  )
  const changes = rows.map((row) => ({ key: row.key, name: row.name, before: row.before, after: row.after }))
  return {
    before: rows[0]!.all_before,
    after: rows[0]!.all_after,
    grows: changes.filter(({ before, after }) => after > before),
    falls: changes.filter(({ before, after }) => after < before),
  }
}
