import type { Sql } from '../../db/connection/postgres.ts'
import { OWNED_TABLES } from '../../db/workspaces/delete-workspace.ts'
import { instant, type Tables } from '../model/tables.ts'

type TableName = keyof Tables

const MICROSECONDS = `extract(epoch from %) * 1000000`
const number = (column: string, name: string): string => `(${MICROSECONDS.replace('%', column)})::bigint as ${name}`
const ABOUT = ['name', 'contract_value', 'source_created_at', 'source_updated_at', 'properties']
const NUMBERS = [
  number('created_at', 'created_number'),
  number('listed_at', 'listed_number'),
  number('updated_at', 'updated_number'),
]
const DESCRIBED = [...ABOUT, ...NUMBERS].join(', ')

/** The columns that tests compare. `test/db/columns.test.ts` names those left out. */
export const COMPARED_COLUMNS: Readonly<Record<TableName, string>> = {
  contact: `id, email, account_id, ${DESCRIBED}`,
  contact_external_id: 'source, external_id, contact_id',
  account: `id, domain, ${DESCRIBED}`,
  account_external_id: 'source, external_id, account_id',
  project: 'id, name',
  feedback:
    'id, description, title, is_transcript, case when tags_generated then null else tags end as tags, tags_generated, ' +
    'rating, is_hidden, kind, theme_id, theme_by, corrections, uncorrected, correction_numbers, ' +
    'source, source_id, source_data, contact_id, account_id, project_id, created_at, ' +
    `${number('accepted_at', 'accepted_number')}, ${number('updated_at', 'updated_number')}`,
  theme: 'id, given_name, is_hidden, merged_into, shown_id, edit_numbers',
  feedback_category: 'title',
  conversation: 'id, external_id, source, title, rating, properties, created_at, updated_at',
  conversation_contact: 'conversation_id, contact_id',
  source: 'source, ratings, least_rating, most_rating',
  message: 'id, conversation_id, external_id, incoming, contact_id, content, source_url, raw_data, created_at',
}

/**
 * Rows of each table as sorted canonical JSON, for comparison between databases and with the model.
 */
export type Dump = Record<string, string[]>

/** All rows of this schema, with the compared columns. */
export const dumpTables = async (sql: Sql): Promise<Dump> => {
  const dump: Dump = {}
  const workspaces = await sql<{ id: string }[]>`select workspace_id as id from workspace_progress`
  for (const [table, columns] of Object.entries(COMPARED_COLUMNS)) {
    const rows: { row: Record<string, unknown> }[] = []
    // In a statement over several workspaces, Citus names the members f1, f2, and so on.
    for (const { id } of workspaces) {
      const own = await sql.unsafe<{ row: Record<string, unknown> }[]>(
        `select to_jsonb(t) as row from (select workspace_id, ${columns} from ${table} where workspace_id = $1) as t`,
        [id],
      )
      rows.push(...own)
    }
    dump[table] = rows.map(({ row }) => canonical(withInstants(row))).toSorted()
  }
  return dump
}

/** The rows of the model, which has only compared columns. */
export const dumpModel = (tables: Tables): Dump =>
  Object.fromEntries(
    Object.entries(tables).map(([table, rows]) => [table, (rows as object[]).map(canonical).toSorted()]),
  )

const INSTANT_COLUMNS = ['source_created_at', 'source_updated_at', 'created_at', 'updated_at']

const withInstants = (row: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column,
      INSTANT_COLUMNS.includes(column) && typeof value === 'string' ? instant(value) : value,
    ]),
  )

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )

/** Deletes the rows of all workspaces, but not the workspaces, their tokens and their progress. */
export const clearTables = async (sql: Sql): Promise<void> => {
  await sql.unsafe(OWNED_TABLES.map((table) => `delete from ${table}`).join(';'))
}

/** Resets all workspaces to position 0 with no counts, so that tests can apply histories again. */
export const resetPositions = async (sql: Sql): Promise<void> => {
  await sql`
    update workspace_progress
    set applied_number = 0, applied = 0, superseded = 0, purged = 0, dead = 0, purges = 0, summed_position = 0, unsummed = 0`
}
