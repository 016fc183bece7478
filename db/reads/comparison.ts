import type { Sql } from '../connection/postgres.ts'
import { type CountRequest, type Dimension, over, partsOf, rowsToCount } from './counts.ts'
import { currentFilters } from './lists.ts'

/** Compares the feedback before `splitAt` with the feedback from then on. */
export type ComparisonRequest = Pick<CountRequest, 'workspaceId' | 'filters' | 'declared' | 'limit'> & {
  by: Dimension
  splitAt: string
}
export type GroupChange = { key: string | null; name: string | null; before: number; after: number }
export type Comparison = { before: number; after: number; grows: GroupChange[]; falls: GroupChange[] }

/** Compares the feedback of groups before and after a time. `filters` bound both spans. */
export const compareSpans = async (
  sql: Sql,
  { workspaceId, by, filters, declared, limit, splitAt }: ComparisonRequest,
): Promise<Comparison> => {
  const { text, name } = partsOf(by, declared)
  const asked = await currentFilters(sql, workspaceId, filters)
  const rows = await sql.unsafe<(GroupChange & { all_before: number; all_after: number })[]>(
    `with x as (${rowsToCount({ by: [by], filters, declared }, ', r.created_at < $4::timestamptz as is_before')}),
    g as (
      select k1, count(*) filter (where is_before) as before, count(*) filter (where not is_before) as after
      from x group by k1
    ),
    changed as (
      (select * from g where after > before order by after - before desc, k1 limit $3)
      union all
      (select * from g where after < before order by after - before, k1 limit $3)
    )
    select w.*, ${over(text, 0)} as key, ${over(name, 0)} as name, g.before::float8, g.after::float8
    from (
      select count(*) filter (where is_before)::float8 as all_before, count(*) filter (where not is_before)::float8 as all_after
      from x where is_first
    ) as w left join changed as g on true
    order by abs(g.after - g.before) desc, g.k1`,
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
