import type { Sql } from '../../db/connection/postgres.ts'
import { comparable, createTally, heldIn, type Residue, type Sought } from './text-search.ts'

/** A table or view. `query` reads its rows as text, with the columns in the order of `columns`. */
type Relation = { name: string; columns: string[]; query: string }

/** Memory holds this many rows at a time, and a row can be as large as a conversation. */
const ROWS_AT_ONCE = 20
/** Separates fields that are searched together. Texts in Postgres cannot contain it. */
const BETWEEN = '\0'

/**
 * Searches Postgres for the strings. It reads the tables in the schemas of this connection, their
 * planner statistics, and the current statements of this database that the role may see. The search
 * runs in this process, so that no statement contains the strings. A cursor reads the rows, since
 * the driver's streams of COPY hang when their reader is slower (porsager/postgres#499).
 */
export const residueInPostgres = async (
  sql: Sql,
  sought: readonly Sought[],
): Promise<{ residue: Residue[]; tables: number }> => {
  const tally = createTally()
  const tables = await readTables(sql)
  for (const { name, columns, query } of [...tables, ...STATISTICS]) {
    for await (const rows of sql.unsafe<Record<string, string | null>[]>(query).values().cursor(ROWS_AT_ONCE)) {
      const among = heldIn(comparable(rows.flat().join(BETWEEN)), sought)
      if (among.length === 0) continue
      for (const row of rows) {
        row.forEach((field, index) => tally.note(heldIn(comparable(field ?? ''), among), `${name}.${columns[index]}`))
      }
    }
  }
  return { residue: tally.residue(), tables: tables.length }
}

/**
 * The queries read arrays and composite values as JSON, and bytes in escaped form. So the search
 * finds text within arrays and composite values, and ASCII text within bytes.
 */
const readTables = (sql: Sql): Promise<Relation[]> =>
  sql<Relation[]>`
    select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns,
      format('select %s from %s', string_agg(
        case
          when t.typname = 'bytea' then format('encode(%I, ''escape'')', a.attname)
          when t.typcategory in ('A', 'C') then format('to_jsonb(%I)', a.attname)
          else quote_ident(a.attname)
        end || '::text', ', ' order by a.attnum), c.oid::regclass) as query
    from pg_class as c
    join pg_namespace as n on n.oid = c.relnamespace
    join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    join pg_type as t on t.oid = a.atttypid
    where n.nspname = any (current_schemas(false)) and c.relkind in ('r', 'p', 'm') and not c.relispartition
    group by c.oid, c.relname order by c.relname`.execute()

const STATISTICS: readonly Relation[] = [
  {
    name: 'pg_stats',
    columns: ['most_common_vals', 'histogram_bounds', 'most_common_elems'],
    query: `select most_common_vals::text, histogram_bounds::text, most_common_elems::text from pg_stats
      where schemaname = any (current_schemas(false))`,
  },
  {
    name: 'pg_stat_activity',
    columns: ['query'],
    query: 'select query from pg_stat_activity where datname = current_database()',
  },
]
