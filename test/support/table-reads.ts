import type { Sql } from '../../db/postgres.ts'

/**
 * Rows that sequential scans and entries that index scans have read; and pages of indexes that were looked at, which tell of a scan that
 * goes through an index for a column that is not its first.
 */
export type Reads = { readonly sequential: number; readonly entries: number; readonly pages: number }

/** What each table of the schema has been read of by a piece of work, which has to use this pool of one connection alone. */
export const readsOf = async (sql: Sql, work: () => Promise<unknown>): Promise<Map<string, Reads>> => {
  const before = await readSoFar(sql)
  await work()
  const after = await readSoFar(sql)
  return new Map(
    [...after].map(([table, reads]) => {
      const former = before.get(table) ?? { sequential: 0, entries: 0, pages: 0 }
      return [
        table,
        {
          sequential: reads.sequential - former.sequential,
          entries: reads.entries - former.entries,
          pages: reads.pages - former.pages,
        },
      ]
    }),
  )
}

const readSoFar = async (sql: Sql): Promise<Map<string, Reads>> => {
  // A connection reports what it has read at most once a second, unless told to with its next statement.
  await sql`select pg_stat_force_next_flush()`
  await sql`select pg_stat_clear_snapshot()`
  const rows = await sql<{ table: string; sequential: string; entries: string; pages: string }[]>`
    select t.relname as table, t.seq_tup_read as sequential, coalesce(sum(i.idx_tup_read), 0) as entries,
      coalesce(sum(b.idx_blks_read + b.idx_blks_hit), 0) as pages
    from pg_stat_user_tables as t
    left join pg_stat_user_indexes as i on i.relid = t.relid
    left join pg_statio_user_indexes as b on b.indexrelid = i.indexrelid
    where t.schemaname = current_schema()
    group by t.relname, t.seq_tup_read`
  return new Map(
    rows.map(({ table, sequential, entries, pages }) => [
      table,
      { sequential: Number(sequential), entries: Number(entries), pages: Number(pages) },
    ]),
  )
}
