import type { Sql } from '../../db/connection/postgres.ts'

/**
 * Rows read by sequential scans, entries read by index scans, and read pages of indexes. The pages
 * reveal a scan through an index for a column that is not its first.
 */
export type Reads = { readonly sequential: number; readonly entries: number; readonly pages: number }

/**
 * The reads of each table of the schema, with its partitions, by a piece of work. The work has to
 * use only this pool of one connection.
 */
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
  // A connection reports its reads at most once a second, unless its next statement requests it.
  await sql`select pg_stat_force_next_flush()`
  await sql`select pg_stat_clear_snapshot()`
  const rows = await sql<{ table: string; sequential: string; entries: string; pages: string }[]>`
    select root.relname as table, sum(t.seq_tup_read) as sequential, sum(i.entries) as entries, sum(i.pages) as pages
    from pg_stat_user_tables as t
    join pg_class as root on root.oid = coalesce(pg_partition_root(t.relid), t.relid)
    cross join lateral (
      select coalesce(sum(idx_tup_read), 0) as entries, coalesce(sum(idx_blks_read + idx_blks_hit), 0) as pages
      from pg_stat_user_indexes join pg_statio_user_indexes using (relid, indexrelid)
      where relid = t.relid
    ) as i
    where t.schemaname = current_schema()
    group by root.relname`
  return new Map(
    rows.map(({ table, sequential, entries, pages }) => [
      table,
      { sequential: Number(sequential), entries: Number(entries), pages: Number(pages) },
    ]),
  )
}
