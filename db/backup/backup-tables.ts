import type { Sql } from '../connection/postgres.ts'
import { OWNED_TABLES } from '../workspaces/delete-workspace.ts'

/**
 * All tables of the service, except the two in which `migrate` takes notes. `token` refers to
 * `workspace`, which therefore comes first.
 */
export const BACKUP_TABLES = [
  'workspace',
  'deleted_workspace',
  'installation',
  'token',
  'workspace_progress',
  ...OWNED_TABLES,
] as const

/** A table and the columns that Postgres does not generate, with their types. */
export type TableColumns = { name: string; columns: string[]; types: string[] }

export const readTableColumns = async (sql: Sql): Promise<TableColumns[]> => {
  const found = await sql<TableColumns[]>`
    select c.relname::text as name, array_agg(a.attname::text order by a.attnum) as columns,
      array_agg(format_type(a.atttypid, a.atttypmod) order by a.attnum) as types
    from unnest(${[...BACKUP_TABLES]}::text[]) as t (name)
    join pg_class as c on c.oid = to_regclass(t.name)
    join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    group by c.relname`
  const byName = new Map(found.map((table) => [table.name, table]))
  return BACKUP_TABLES.flatMap((name) => byName.get(name) ?? [])
}

/** The text forms of values are the same in every session with these settings. */
export const SESSION_OF_BACKUP = `
  select set_config('statement_timeout', '0', false), set_config('datestyle', 'ISO, YMD', false),
    set_config('extra_float_digits', '1', false), set_config('bytea_output', 'hex', false)`

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
