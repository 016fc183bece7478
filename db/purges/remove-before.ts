import type { Sql } from '../connection/postgres.ts'

/** The records that a stride names. */
export type NamedRecords = { feedbackIds: readonly string[]; conversationIds: readonly string[] }

/**
 * Removes what pending purges have left to remove of this feedback and these conversations. It
 * comes before a stride is loaded that names them, so that the stride finds what it would have
 * found after the whole purge.
 */
export const removeBefore = async (
  sql: Sql,
  workspaceId: string,
  { feedbackIds, conversationIds }: NamedRecords,
): Promise<void> => {
  await sql`
    select remove_before(${workspaceId}::uuid, ${[...feedbackIds]}::uuid[], ${[...conversationIds]}::uuid[])`
}
