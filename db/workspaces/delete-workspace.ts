import type { Sql } from '../connection/postgres.ts'

/**
 * Tables with rows of a workspace. `beginDeletion` removes the rows of workspace_progress and
 * token, so these are not in the list.
 */
export const OWNED_TABLES = [
  'tag_share',
  'tag_term',
  'tag_in_use',
  'tag_memory',
  'meaning_share',
  'meaning_sum',
  'text_band',
  'search_text',
  'search_block',
  'search_span',
  'feedback',
  'theme',
  'alert',
  'digest',
  'alert_count',
  'alert_look',
  'feedback_sum',
  'feedback_category',
  'conversation_contact',
  'conversation',
  'message',
  'source',
  'tombstone',
  'webhook',
  'undelivered_change',
  'unresolved',
  'contact_external_id',
  'contact_email',
  'contact_alias',
  'contact',
  'account_external_id',
  'account_domain',
  'account_name',
  'account_alias',
  'account',
  'project',
  'pending_move',
  'purged_key',
  'purge',
  'dead_submission',
  'submission',
] as const

/** A workspace that is being deleted has no other writer, so a large step delays nothing. */
const ROWS_PER_STEP = 5_000

/**
 * Removes the tokens of a workspace, and its progress row: no statement can save rows for the
 * workspace from then on. If the deletion has already begun, this does the same again. Returns how
 * many milliseconds ago the deletion began.
 */
export const beginDeletion = async (sql: Sql, workspaceId: string): Promise<number> => {
  const [row] = await sql<[{ ms: number }]>`select begin_deletion(${workspaceId}::uuid) as ms`
  return row.ms
}

export const countOwnedRows = async (sql: Sql, workspaceId: string): Promise<number> => {
  let rows = 0
  for (const table of OWNED_TABLES) {
    const [row] = await sql<[{ count: number }]>`
      select count(*)::float8 as count from ${sql(table)} where workspace_id = ${workspaceId}`
    rows += row.count
  }
  return rows
}

/**
 * Deletes the rows of a workspace whose deletion has begun, in bounded steps. `onProgress` gets the
 * number of rows deleted so far.
 */
export const deleteOwnedRows = async (
  sql: Sql,
  workspaceId: string,
  onProgress: (deleted: number) => void,
): Promise<number> => {
  let deleted = 0
  for (const table of OWNED_TABLES) {
    let step: number
    do {
      const [row] = await sql<[{ rows: number }]>`
        select delete_rows(${workspaceId}::uuid, ${table}::text, ${ROWS_PER_STEP}::int) as rows`
      step = row.rows
      deleted += step
      onProgress(deleted)
    } while (step === ROWS_PER_STEP)
  }
  return deleted
}

/** Ends a deletion, and frees the name of the workspace. */
export const endDeletion = async (sql: Sql, workspaceId: string): Promise<void> => {
  await sql`delete from workspace where id = ${workspaceId}`
}

/** The ids of workspaces whose deletion began within this time. */
export const listDeletedIds = async (sql: Sql, withinMs: number): Promise<string[]> => {
  const rows = await sql<{ id: string }[]>`
    select id from deleted_workspace where deleted_at > now() - make_interval(secs => ${withinMs / 1_000}) order by id`
  return rows.map(({ id }) => id)
}
