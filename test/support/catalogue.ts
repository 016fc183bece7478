import type { Sql } from '../../db/postgres.ts'
import { schemaText } from '../../db/schema-text.ts'

/** All that a migrated schema has, as text: tables and what belongs to them, every function and aggregate. */
export const catalogueText = async (sql: Sql): Promise<string> => {
  const [{ name }] = await sql<[{ name: string }]>`select current_schema() as name`
  const functions = await sql<{ text: string }[]>`
    select case when prokind = 'a' then 'aggregate ' || oid::regprocedure else pg_get_functiondef(oid) end as text
    from pg_proc where pronamespace = current_schema()::regnamespace
    order by proname, pg_get_function_identity_arguments(oid)`
  const texts = functions.map(({ text }) => text.replaceAll(`${name}.`, ''))
  return [await schemaText(sql), ...texts].join('\n')
}
