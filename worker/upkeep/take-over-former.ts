import * as v from 'valibot'
import { acceptedJob, type SubmissionJob, taggingJob } from '../../contract/job.ts'
import { sayingsOf } from '../../contract/identity/sayings.ts'
import { booksIn } from '../../queue/books.ts'
import { forgetFormerSayings, type FormerJob, shortenFormerKeys, takeFormerJobs } from '../../queue/former-release.ts'
import { enqueueTagging } from '../../queue/job-queues.ts'
import type { WorkerStores } from '../dependencies.ts'

/**
 * Takes over what release 0.2 left in Redis, whose jobs carried bodies: submissions are put on the books, and texts that wait for tags
 * into the queue. Jobs that a worker of that release has in hand stay with it. Returns how many jobs.
 */
export const takeOverFormer = async (stores: WorkerStores): Promise<number> => {
  const { redis, prefix, queues, hashKey } = stores
  const books = booksIn(redis, prefix)
  const keep = async ({ data }: FormerJob): Promise<void> => {
    const tagging = v.safeParse(taggingJob, data)
    if (tagging.success) await enqueueTagging(queues, [tagging.output])
    const parsed = v.safeParse(acceptedJob, data)
    if (!parsed.success) return
    const submission = parsed.output as SubmissionJob
    const { workspaceId, number } = submission
    const sayings = sayingsOf({ hashKey, workspaceId }, submission)
    await books.put({ submission, idempotency: undefined }, sayings)
    const keyIds = sayings.aboutKeys.map(({ keyId }) => keyId)
    await forgetFormerSayings(redis, prefix, { workspaceId, number, keyIds })
  }
  const taken = await takeFormerJobs(redis, prefix, keep)
  if (taken !== undefined) await shortenFormerKeys(redis, prefix)
  return taken ?? 0
}
