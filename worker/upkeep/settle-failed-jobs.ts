import * as v from 'valibot'
import { acceptedJob, QUEUE_OF, settledJob, type SubmissionJob } from '../../contract/job.ts'
import type { DeliveredJob } from '../../queue/delivered-job.ts'
import type { WorkerStores } from '../dependencies.ts'
import { settleAsDead, settlingIn } from '../settle.ts'

/** Failed jobs of a queue that are looked at in one go, the newest first. */
const LOOKED_AT = 100

/**
 * Settles as dead what a queue has given up by itself, without asking a worker: a job that killed its worker again and again.
 * Until then the submission holds up the purges of its workspace. Returns how many submissions were settled.
 */
export const settleFailedJobs = async (stores: WorkerStores): Promise<number> => {
  const names = [...new Set(Object.values(QUEUE_OF))]
  const failed = (await Promise.all(names.map((name) => stores.queues[name].getFailed(0, LOOKED_AT)))).flat()
  const settling = settlingIn(stores)
  let settled = 0
  for (const job of failed as (DeliveredJob | undefined)[]) {
    if (job === undefined) continue
    const parsed = v.safeParse(acceptedJob, job.data)
    if (parsed.success) {
      await settleAsDead(settling, {
        job: parsed.output as SubmissionJob,
        attempts: job.attemptsMade,
        reason: 'GivenUp stalled',
      })
      settled++
    }
    // Nothing else removes failed jobs, and only the newest are looked at. A job of somebody else's stays for operators.
    if (parsed.success || v.is(settledJob, job.data)) await job.remove()
  }
  return settled
}
