import type { Sql } from '../../db/connection/postgres.ts'

/** The number of copies of each feedback and its receipt, and of all other rows. */
export type Copies = { readonly feedback: number; readonly others: number }

const FEEDBACK_TABLES = ['feedback', 'submission']
const OTHER_TABLES = [
  'contact',
  'contact_external_id',
  'contact_email',
  'contact_alias',
  'purged_key',
  'account',
  'account_external_id',
  'account_domain',
  'account_name',
  'account_alias',
  'project',
  'conversation',
  'conversation_contact',
  'message',
  'unresolved',
  'tag_share',
  'tag_term',
  'tag_in_use',
]
/** Text columns that are keys of rows. */
const KEYS: readonly string[] = [
  'submission.idempotency_key',
  'contact_email.email',
  'account_domain.domain',
  'account_name.name',
  'account_name.domain',
]
/** Tables that grow with submissions. */
export const GROWING_TABLES: readonly string[] = [...FEEDBACK_TABLES, ...OTHER_TABLES]

/** A vacuum reads whole indexes, and its reads would count. */
export const keepVacuumAway = async (sql: Sql): Promise<void> => {
  const tables = await sql<{ name: string }[]>`
    select oid::regclass::text as name from pg_class
    where relkind = 'r' and coalesce(pg_partition_root(oid), oid) = any (${GROWING_TABLES}::text[]::regclass[])`
  for (const { name } of tables) await sql.unsafe(`alter table ${name} set (autovacuum_enabled = false)`)
}

type Column = { name: string; isId: boolean; isHash: boolean }

/**
 * Multiplies the rows of a schema, with other ids. Copies are related like their originals: copies
 * of feedback are spread over the copies of contacts and accounts. It creates no objects: after
 * these, other connections would plan their statements again.
 */
export const multiplyRows = async (sql: Sql, copies: Copies): Promise<void> => {
  for (const table of GROWING_TABLES) {
    const columns = await sql<Column[]>`
      select quote_ident(column_name) as name, data_type = 'uuid' and column_name <> 'workspace_id' as "isId",
        column_name = 'hash' as "isHash"
      from information_schema.columns
      where table_schema = current_schema() and table_name = ${table} and is_generated = 'NEVER'
      order by ordinal_position`
    const isFeedback = FEEDBACK_TABLES.includes(table)
    const value = ({ name, isId, isHash }: Column): string => {
      if (KEYS.includes(`${table}.${name}`)) return `${name} || '/' || copy`
      if (isHash) return `${name} + copy`
      if (!isId) return name
      return `md5(${name} || '/' || ${isFeedback && name !== 'id' ? `1 + copy % ${copies.others}` : 'copy'})::uuid`
    }
    const most = isFeedback ? copies.feedback : copies.others
    await sql.unsafe(`
      insert into ${table} (${columns.map(({ name }) => name).join(', ')})
      select ${columns.map(value).join(', ')} from ${table}, generate_series(1, ${most}) as copy`)
  }
}
