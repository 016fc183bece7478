import type { Sql } from '../connection/postgres.ts'
import { BACKUP_TABLES, quoted, SESSION_OF_BACKUP, type TableColumns } from './backup-tables.ts'

const CHARACTERS_AT_ONCE = 1_000_000

/**
 * Why no backup can be restored into this database: it is in use. Undefined for a migrated database
 * that no process has started with. Its only row is the workspace that the migration has made.
 */
export const whyNotEmpty = async (sql: Sql): Promise<string | undefined> => {
  for (const table of BACKUP_TABLES) {
    const most = table === 'workspace' || table === 'workspace_progress' ? 1 : 0
    const { count } = await sql`select from ${sql(table)} limit ${most + 1}`
    if (count > most) return `The table ${table} has rows.`
  }
  return undefined
}

export const removeFirstWorkspace = async (sql: Sql): Promise<void> => {
  await sql.unsafe(`${SESSION_OF_BACKUP}; delete from workspace_progress; delete from workspace`)
}

/**
 * Inserts the rows of one table, as `readRows` gives them, in this transaction and in no other.
 * Returns the number of inserted rows.
 */
export const putRows = async (
  { sql, transactionId }: { sql: Sql; transactionId: string },
  { name, columns, types }: TableColumns,
  rows: AsyncIterable<string>,
): Promise<number> => {
  const values = columns.map((_, index) => `(r.v ->> ${index})::${types[index]}`)
  const statement = `
    insert into ${quoted(name)} (${columns.map(quoted).join(', ')})
    select ${values.join(', ')} from jsonb_array_elements($1::text::jsonb) as r (v)
    where pg_current_xact_id()::text = $2`
  let count = 0
  const put = async (part: readonly string[]): Promise<void> => {
    if (part.length > 0) count += (await sql.unsafe(statement, [`[${part.join(',')}]`, transactionId])).count
  }
  let part: string[] = []
  let characters = 0
  for await (const row of rows) {
    part.push(row)
    characters += row.length
    if (characters < CHARACTERS_AT_ONCE) continue
    await put(part)
    part = []
    characters = 0
  }
  await put(part)
  return count
}
