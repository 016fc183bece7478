import type { Sql } from './postgres.ts'

type Part = { text: string }

const HEAD =
  '-- The tables that the migrations come to, for reading and comparing; the migrations make them. Written by npm run schema.'

/**
 * The tables that a database has now, as SQL in the order of names: types, tables with their constraints, the functions behind
 * their generated columns, indexes, views, triggers. Names stand without the schema that they are in. Two databases with the same
 * text have the same tables; all other functions are those of db/functions.
 */
export const schemaText = async (sql: Sql): Promise<string> => {
  const [{ name }] = await sql<[{ name: string }]>`select current_schema() as name`
  const parts = [
    await typesOf(sql),
    await tablesOf(sql),
    await generatingFunctionsOf(sql),
    await indexesOf(sql),
    await viewsOf(sql),
    await triggersOf(sql),
  ]
  const texts = parts.flat().map(({ text }) => text.replaceAll(`${name}.`, '').trim())
  return `${[HEAD, ...texts].join('\n\n')}\n`
}

const typesOf = (sql: Sql): Promise<Part[]> => sql<Part[]>`
  select format(E'create type %I as (\n%s\n);', c.relname,
    string_agg(format('  %I %s', a.attname, format_type(a.atttypid, a.atttypmod)), E',\n' order by a.attnum)) as text
  from pg_class as c join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where c.relkind = 'c' and c.relnamespace = current_schema()::regnamespace
  group by c.relname order by c.relname`

const tablesOf = (sql: Sql): Promise<Part[]> => sql<Part[]>`
  select format(E'create table %I (\n%s\n)%s;', c.relname,
    concat_ws(E',\n', columns.text, constraints.text),
    coalesce(format(' with (%s)', array_to_string(c.reloptions, ', ')), '')) as text
  from pg_class as c
  cross join lateral (
    select string_agg(concat_ws(' ', format('  %I %s', a.attname, format_type(a.atttypid, a.atttypmod)),
      case when a.attgenerated <> '' then format('generated always as (%s) stored', pg_get_expr(d.adbin, d.adrelid))
           when d.adbin is not null then 'default ' || pg_get_expr(d.adbin, d.adrelid) end,
      case when a.attnotnull then 'not null' end,
      case when a.attstattarget is not null then format('/* statistics %s */', a.attstattarget) end,
      case when a.attstorage <> t.typstorage then format('/* storage %s */', a.attstorage) end), E',\n' order by a.attnum) as text
    from pg_attribute as a
    join pg_type as t on t.oid = a.atttypid
    left join pg_attrdef as d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns
  cross join lateral (
    select string_agg(format('  constraint %I %s', conname, pg_get_constraintdef(oid, true)), E',\n' order by contype desc, conname) as text
    from pg_constraint where conrelid = c.oid and contype in ('p', 'u', 'f', 'c', 'x')) as constraints
  where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
  order by c.relname`

const generatingFunctionsOf = (sql: Sql): Promise<Part[]> => sql<Part[]>`
  select trim(pg_get_functiondef(p.oid)) || ';' as text
  from pg_proc as p
  where p.pronamespace = current_schema()::regnamespace and exists (
    select from pg_depend as d
    where d.classid = 'pg_attrdef'::regclass and d.refclassid = 'pg_proc'::regclass and d.refobjid = p.oid)
  order by p.proname`

const indexesOf = (sql: Sql): Promise<Part[]> => sql<Part[]>`
  select pg_get_indexdef(x.indexrelid) || ';' as text
  from pg_index as x join pg_class as i on i.oid = x.indexrelid
  where i.relnamespace = current_schema()::regnamespace
    and not exists (select from pg_constraint where conindid = x.indexrelid and contype in ('p', 'u', 'x'))
  order by i.relname`

const viewsOf = (sql: Sql): Promise<Part[]> => sql<Part[]>`
  select format(E'create view %I as\n%s', relname, pg_get_viewdef(oid, true)) as text
  from pg_class where relkind = 'v' and relnamespace = current_schema()::regnamespace order by relname`

const triggersOf = (sql: Sql): Promise<Part[]> => sql<Part[]>`
  select pg_get_triggerdef(g.oid, true) || ';' as text
  from pg_trigger as g join pg_class as c on c.oid = g.tgrelid
  where not g.tgisinternal and c.relnamespace = current_schema()::regnamespace
  order by c.relname, g.tgname`
