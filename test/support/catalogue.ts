import type { Sql } from '../../db/connection/postgres.ts'

/**
 * The whole content of a migrated schema, as text: tables with their columns and indexes, and every
 * function.
 */
export const catalogueText = async (sql: Sql): Promise<string> => {
  const [{ name }] = await sql<[{ name: string }]>`select current_schema() as name`
  const rows = await sql<{ text: string }[]>`
    select concat_ws(' ', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attstattarget, a.attstorage,
      pg_get_expr(d.adbin, d.adrelid)) as text
    from pg_attribute as a join pg_class as c on c.oid = a.attrelid
    left join pg_attrdef as d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p', 'v') and a.attnum > 0 and not a.attisdropped
    union all
    select pg_get_indexdef(x.indexrelid) from pg_index as x join pg_class as c on c.oid = x.indrelid
    where c.relnamespace = current_schema()::regnamespace
    union all
    select conname || ' ' || pg_get_constraintdef(oid) from pg_constraint where connamespace = current_schema()::regnamespace
    union all
    select relname || ' ' || pg_get_viewdef(oid) from pg_class
    where relnamespace = current_schema()::regnamespace and relkind = 'v'
    union all
    select pg_get_functiondef(oid) from pg_proc where pronamespace = current_schema()::regnamespace and prokind in ('f', 'p')
    order by 1`
  return rows.map(({ text }) => text.replaceAll(`${name}.`, '')).join('\n')
}
