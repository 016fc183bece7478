import type { TaggingJob } from '../db/contract/job.ts'
import { JOB_VERSION } from '../db/contract/job.ts'
import type { Sql } from '../db/postgres.ts'
import type { Rows } from '../db/store.ts'
import { readUntagged, storeTags } from '../db/tagging.ts'
import { generateTags } from './tags/generate-tags.ts'

/** Reads the texts of a job, generates their tags and keeps them. Doing it twice changes nothing. */
export const tag = async (sql: Sql, job: TaggingJob): Promise<number> => {
  const untagged = await readUntagged(sql, job)
  if (untagged.length === 0) return 0
  await storeTags(
    sql,
    job.workspaceId,
    untagged.map(({ record, id, number, text }) => ({ record, id, number, tags: generateTags(text) })),
  )
  return untagged.length
}

/** Whether what was stored by a submission is to be tagged. */
export const wantsTags = ({ feedback, conversation }: Rows): boolean => feedback?.tags === null || conversation != null

/** The tagging that stored submissions leave to be done: one job for each workspace. */
export const taggingFor = (stored: readonly Rows[]): TaggingJob[] =>
  [...Map.groupBy(stored, ({ workspaceId }) => workspaceId)]
    .map(([workspaceId, rows]): TaggingJob => ({
      version: JOB_VERSION,
      workspaceId,
      feedbackIds: rows.flatMap(({ feedback }) => (feedback && feedback.tags === null ? [feedback.id] : [])),
      conversationIds: rows.flatMap(({ conversation }) => (conversation ? [conversation.id] : [])),
    }))
    .filter(({ feedbackIds, conversationIds }) => feedbackIds.length + conversationIds.length > 0)
