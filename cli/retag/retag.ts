import { setTimeout as wait } from 'node:timers/promises'
import type { TaggingJob } from '../../contract/jobs.ts'
import { enqueueTagging, type JobQueues, taggingOutcome } from '../../queue/jobs/job-queues.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { type Retag, type RetagPage, retagPages } from '../../db/tags/retag.ts'

const RECORDS_PER_JOB = 500
/** The number of waiting jobs. More would delay the tags of new records. */
const JOBS_AHEAD = 4
const LOOK_EVERY_MS = 100

export type Retagged = { done: number; kept: number; failed: number; workspaces: number }

type Queued = { id: string; records: number }

/**
 * Makes the workers tag records again, a few jobs at a time. `onProgress` gets the number of
 * records that workers have finished. Returns this number, the number of records with new tags, and
 * the number of records in failed jobs.
 */
export const retag = async (
  { sql, queues }: { sql: Sql; queues: JobQueues },
  wanted: Retag,
  onProgress: (done: number) => void,
): Promise<Retagged> => {
  const result: Retagged = { done: 0, kept: 0, failed: 0, workspaces: 0 }
  const workspaces = new Set<string>()
  const ahead: Queued[] = []
  const finishFirst = async (): Promise<void> => {
    const first = ahead.shift()
    if (first === undefined) return
    const { failed, kept } = await outcomeOf(queues, first.id)
    result.done += first.records
    if (failed) result.failed += first.records
    else result.kept += kept ?? first.records
    onProgress(result.done)
  }
  for await (const page of retagPages(sql, wanted, RECORDS_PER_JOB)) {
    workspaces.add(page.workspaceId)
    const ids = await enqueueTagging(queues, [jobOf(page, wanted.olderThanVersion === undefined)])
    ahead.push(...ids.map((id) => ({ id, records: page.ids.length })))
    if (ahead.length >= JOBS_AHEAD) await finishFirst()
  }
  while (ahead.length > 0) await finishFirst()
  return { ...result, workspaces: workspaces.size }
}

const jobOf = ({ table, workspaceId, ids }: RetagPage, again: boolean): TaggingJob => ({
  workspaceId,
  feedbackIds: table === 'feedback' ? ids : [],
  conversationIds: table === 'conversation' ? ids : [],
  ...(again && { again }),
})

const outcomeOf = async (queues: JobQueues, id: string): Promise<{ failed: boolean; kept: number | undefined }> => {
  for (;;) {
    const outcome = await taggingOutcome(queues, id)
    if (outcome !== undefined) return outcome
    await wait(LOOK_EVERY_MS)
  }
}
