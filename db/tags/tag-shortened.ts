import type { TaggingJob } from '../../contract/jobs.ts'
import type { Sql } from '../connection/postgres.ts'

const CONVERSATIONS_PER_JOB = 500

/**
 * Queues conversations for tagging that lost messages, and so their tags, to the purge of this
 * number or a later one. Returns how many. It can be repeated: a conversation counts until it has
 * tags again.
 */
export const tagShortened = async (
  sql: Sql,
  { workspaceId, number }: { workspaceId: string; number: number },
  enqueueTagging: (jobs: readonly TaggingJob[]) => Promise<unknown>,
): Promise<number> => {
  const rows = await sql<{ id: string }[]>`
    select id from conversation where workspace_id = ${workspaceId} and purged_number >= ${number} and tags is null`
  const ids = rows.map(({ id }) => id)
  for (let at = 0; at < ids.length; at += CONVERSATIONS_PER_JOB) {
    const conversationIds = ids.slice(at, at + CONVERSATIONS_PER_JOB)
    await enqueueTagging([{ workspaceId, feedbackIds: [], conversationIds }])
  }
  return ids.length
}
