import { setTimeout as wait } from 'node:timers/promises'
import type { TaggingJob } from '../../contract/jobs.ts'
import { addTagging, type JobQueues, findTaggingOutcome } from '../../queue/jobs/job-queues.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { type Retag, type RetagPage, readRetagPages } from '../../db/tags/retag.ts'

const RECORDS_PER_JOB = 500
/** The most unfinished jobs at a time. More would delay the tags of new records. */
const JOBS_AHEAD = 4
const LOOK_EVERY_MS = 100

type QueuedJob = { id: string; records: number }

/**
 * Makes the workers tag records again, a few jobs at a time. `onProgress` gets the number of
 * records that workers have finished. Returns the number of tagged records, and the number of
 * records in failed jobs.
 */
export const retag = async (
  { sql, queues }: { sql: Sql; queues: JobQueues },
  wanted: Retag,
  onProgress: (done: number) => void,
): Promise<{ tagged: number; failed: number }> => {
  const result = { tagged: 0, failed: 0 }
  let done = 0
  const ahead: QueuedJob[] = []
  const finishFirst = async (): Promise<void> => {
    const first = ahead.shift()
    if (first === undefined) return
    const { failed, tagged } = await outcomeOf(queues, first.id)
    done += first.records
    if (failed) result.failed += first.records
    else result.tagged += tagged ?? first.records
    onProgress(done)
  }
  for await (const page of readRetagPages(sql, wanted, RECORDS_PER_JOB)) {
    const jobs = await addTagging(queues, [jobOf(page, wanted.olderThanVersion === undefined)])
    ahead.push(...jobs.map(({ id }) => ({ id: id!, records: page.ids.length })))
    if (ahead.length >= JOBS_AHEAD) await finishFirst()
  }
  while (ahead.length > 0) await finishFirst()
  return result
}

const jobOf = ({ table, workspaceId, ids }: RetagPage, isRetag: boolean): TaggingJob => ({
  workspaceId,
  feedbackIds: table === 'feedback' ? ids : [],
  conversationIds: table === 'conversation' ? ids : [],
  ...(isRetag && { isRetag }),
})

const outcomeOf = async (queues: JobQueues, id: string): Promise<{ failed: boolean; tagged: number | undefined }> => {
  for (;;) {
    const outcome = await findTaggingOutcome(queues, id)
    if (outcome !== undefined) return outcome
    await wait(LOOK_EVERY_MS)
  }
}
