import type { TaggingJob } from './contract/job.ts'
import type { Sql } from './postgres.ts'

/** A stored record that wants tags: its number, so that tags of a text that was replaced meanwhile are not kept. */
export type Untagged = { record: 'feedback' | 'conversation'; id: string; number: number; text: string }
export type Tagged = { record: 'feedback' | 'conversation'; id: string; number: number; tags: string[] }

/** The texts of those records of a job that still want tags: feedback without any, conversations by their incoming messages. */
export const readUntagged = async (
  sql: Sql,
  { workspaceId, feedbackIds, conversationIds }: TaggingJob,
): Promise<Untagged[]> => {
  const rows = await sql<(Omit<Untagged, 'number'> & { number: string })[]>`
    select record, id, number, text
    from untagged(${workspaceId}, ${feedbackIds}::uuid[], ${conversationIds}::uuid[])`
  return rows.map((row) => ({ ...row, number: Number(row.number) }))
}

/** Keeps generated tags, and counts them into the workspace's categories; a record that was replaced meanwhile keeps none. */
export const storeTags = async (sql: Sql, workspaceId: string, tagged: readonly Tagged[]): Promise<void> => {
  await sql`select store_tags(${workspaceId}, ${sql.json([...tagged])})`
}
