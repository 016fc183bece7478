import type { Sql } from '../connection/postgres.ts'
import { quoted, SESSION_OF_BACKUP, type TableColumns } from './backup-tables.ts'

/** `row`: a JSON array with each column in the text form of Postgres, or null. */
type BackupRow = { table: string; row: string }

/** A row can be as large as a customer, and memory holds this many. */
const ROWS_AT_ONCE = 5

/**
 * All rows of the tables, as of one moment: one statement has one snapshot. A cursor reads the rows,
 * since the driver's streams of COPY hang when their reader is slower (porsager/postgres#499). JSON
 * of whole rows would not tell a JSON null from a missing value.
 */
export const readRows = async function* (sql: Sql, tables: readonly TableColumns[]): AsyncGenerator<BackupRow[]> {
  await sql.unsafe(SESSION_OF_BACKUP)
  const parts = tables.map(({ name, columns }) => {
    const texts = columns.map((column) => `${quoted(column)}::text`)
    return `select '${name}' as "table", json_build_array(${texts.join(', ')})::text as "row" from ${quoted(name)}`
  })
  yield* sql.unsafe<BackupRow[]>(parts.join(' union all ')).cursor(ROWS_AT_ONCE)
}
