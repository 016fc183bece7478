import type { Sql } from '../connection/postgres.ts'

/** The records that a stride names. */
export type NamedRecords = { feedbackIds: readonly string[]; conversationIds: readonly string[] }

/**
 * Removes the records of pending purges among these feedback and conversations. Call it before
 * loading a stride that names them, so that the stride finds the state after the whole purge.
 */
export const removeBefore = async (
  sql: Sql,
  workspaceId: string,
  { feedbackIds, conversationIds }: NamedRecords,
): Promise<void> => {
  await sql`
    select remove_before(${workspaceId}::uuid, ${[...feedbackIds]}::uuid[], ${[...conversationIds]}::uuid[])`
}
