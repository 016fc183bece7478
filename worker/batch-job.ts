import * as v from 'valibot'
import { batchJob, type NamedBatch } from '../contract/job.ts'
import { describeFault, isPermanentFault } from '../process/fault.ts'
import { type DeliveredJob, hopeless } from '../queue/delivered-job.ts'
import type { LifeDependencies, LiveBatch } from './batch-life.ts'
import { type Processor, withoutCause } from './delivery.ts'
import { handOverAll, handOverEach } from './hand-over-each.ts'
import { roomFor } from '../process/room.ts'
import { settleAsDead } from './settle.ts'
import { SUSPECT_AFTER_DEATHS } from './suspects.ts'

/** A worker that holds so many bytes reads no more until some are stored: one body can be as large as a thousand others. */
const MOST_BYTES_IN_HAND = 16_000_000

/**
 * What a worker does with a job that names batches. A batch that cannot be stored, or was in the hands of workers that died, in company, is
 * split, and each submission gets a job of its own. So what is bad, or kills workers, is alone in the end.
 *
 * @throws when the job is to be tried again.
 */
export const batchProcessor = (dependencies: LifeDependencies & { mostInHand: number }, live: LiveBatch): Processor => {
  const room = roomFor({ submissions: dependencies.mostInHand, bytes: MOST_BYTES_IN_HAND })
  return async (job) => {
    const parsed = v.safeParse(batchJob, job.data)
    // Nothing of ours queues such a job; it is left where operators see it.
    if (!parsed.success) throw hopeless('This is no job of this version.')
    const { batches } = parsed.output
    const hasCompany = batches.length > 1 || batches[0]!.submissions > 1
    const isSuspect = job.stalledCounter >= SUSPECT_AFTER_DEATHS
    if (isSuspect && hasCompany) return handOverAll(dependencies, batches)
    const results = await Promise.allSettled(
      batches.map((named) => {
        const attempts = job.attemptsMade + 1
        const onProgress = (removed: number): Promise<void> => job.updateProgress({ removed })
        const coming = { named, attempts, isBacklog: false, isSuspect, onProgress }
        // A suspect waits for no room: what fills it is given back, and may be waiting for the suspect.
        return isSuspect ? live(coming) : room.enter(named, () => live(coming))
      }),
    )
    const failed = results.flatMap((result, at) =>
      result.status === 'rejected' ? [{ named: batches[at]!, error: result.reason as unknown }] : [],
    )
    if (failed.length > 0) await afterFailure(dependencies, job, failed)
    return 'done'
  }
}

type Failed = { named: NamedBatch; error: unknown }

/** At the last attempt, or where trying again mends nothing, a submission is settled as dead, once it is alone. */
const afterFailure = async (
  dependencies: LifeDependencies,
  job: DeliveredJob,
  failed: readonly Failed[],
): Promise<void> => {
  const attempts = job.attemptsMade + 1
  for (const { named, error } of failed) {
    const { workspaceId, batchId } = named
    const fault = describeFault(error)
    dependencies.log('error', 'job_failed', { queue: job.queueName, workspaceId, batchId, attempts, fault })
    if (attempts < (job.opts.attempts ?? 1) && !isPermanentFault(error)) continue
    const batch = await dependencies.books.read(named)
    if (batch === undefined) continue
    if (batch.submissions.length > 1) await handOverEach(dependencies, batch)
    else await settleAsDead(dependencies, batch, { attempts, reason: fault })
  }
  const again = failed.find(({ error }) => attempts < (job.opts.attempts ?? 1) && !isPermanentFault(error))
  if (again) throw withoutCause(describeFault(again.error))
}
