import type { Sql } from './postgres.ts'

/** Tables whose rows belong to a workspace, in an order in which they can be emptied. */
export const OWNED_TABLES = [
  // These come before the records, so that the triggers of the records find nothing to count off.
  'tag_term',
  'tag_in_use',
  'tag_memory',
  'tag_share',
  'feedback',
  'superseded_reference',
  'unresolved_reference',
  'conversation_contact',
  'conversation',
  'message',
  'feedback_category',
  'contact_external_id',
  'account_external_id',
  'contact',
  'account',
  'project',
  'identity_claim',
  'identity_key',
  'submission',
  'ledger',
  'dead_submission',
  'idempotency_key',
  'repeat_left',
  'relink_left',
  'fence',
  'fence_claim',
  'purge',
] as const

/** A step takes some 50 ms. It waits for nobody, and nobody for it. */
const ROWS_PER_STEP = 5_000

/**
 * Ends the tokens of a workspace, and with them all storing: what is queued, in hand or dead is not stored from now on. Returns how many
 * milliseconds ago that was, since a deletion can be begun again.
 */
export const beginDeletion = async (sql: Sql, workspaceId: string): Promise<number> => {
  const [row] = await sql<[{ ms: number }]>`select begin_deletion(${workspaceId}) as ms`
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

/** Deletes in bounded steps what is stored of a workspace whose deletion has begun. `onProgress` hears how many rows are deleted so far. */
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
        select delete_rows(${table}, ${workspaceId}, ${ROWS_PER_STEP}) as rows`
      step = row.rows
      deleted += step
      onProgress(deleted)
    } while (step === ROWS_PER_STEP)
  }
  return deleted
}

/** The last step: from here on the name is free. */
export const endDeletion = async (sql: Sql, workspaceId: string): Promise<void> => {
  await sql`delete from workspace where id = ${workspaceId}`
}

/** Workspaces whose deletion began within this time. */
export const listDeletedIds = async (sql: Sql, withinMs: number): Promise<string[]> => {
  const rows = await sql<{ id: string }[]>`
    select id from deleted_workspace where deleted_at > now() - make_interval(secs => ${withinMs / 1_000}) order by id`
  return rows.map(({ id }) => id)
}
