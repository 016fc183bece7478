import type { Sql } from '../../db/postgres.ts'

/** Rows that sequential scans and entries that index scans have read. */
export type Reads = { readonly sequential: number; readonly index: number }

/** What each table of the schema has been read of by a piece of work, which has to use this pool of one connection alone. */
export const readsOf = async (sql: Sql, work: () => Promise<unknown>): Promise<Map<string, Reads>> => {
  const before = await readSoFar(sql)
  await work()
  const after = await readSoFar(sql)
  return new Map(
    [...after].map(([table, reads]) => {
      const former = before.get(table) ?? { sequential: 0, index: 0 }
      return [table, { sequential: reads.sequential - former.sequential, index: reads.index - former.index }]
    }),
  )
}

const readSoFar = async (sql: Sql): Promise<Map<string, Reads>> => {
  // A connection reports what it has read at most once a second, unless told to with its next statement.
  await sql`select pg_stat_force_next_flush()`
  await sql`select pg_stat_clear_snapshot()`
  const rows = await sql<{ table: string; sequential: string; index: string }[]>`
    select t.relname as table, t.seq_tup_read as sequential, coalesce(sum(i.idx_tup_read), 0) as index
    from pg_stat_user_tables as t left join pg_stat_user_indexes as i on i.relid = t.relid
    where t.schemaname = current_schema()
    group by t.relname, t.seq_tup_read`
  return new Map(
    rows.map(({ table, sequential, index }) => [table, { sequential: Number(sequential), index: Number(index) }]),
  )
}
