import * as v from 'valibot'
import { removalJob } from '../contract/jobs.ts'
import { describeFault } from '../runtime/fault.ts'
import { unrecoverable } from '../queue/jobs/open-worker.ts'
import { type Processor, type WorkerDependencies, withoutCause } from './dependencies.ts'
import { removePurgedRecords } from './purge/remove-purged.ts'
import { whenAvailable } from './when-available.ts'

type RemovalDependencies = WorkerDependencies & { onPurged: (number: number, attempts: number) => void }

/** Removes the records of a decided purge. Maintenance adds a job again that fails for good. */
export const createRemovalProcessor =
  (dependencies: RemovalDependencies): Processor =>
  async (job) => {
    const { log, stop, onPurged } = dependencies
    const attempts = job.attemptsMade + 1
    const parsed = v.safeParse(removalJob, job.data)
    if (!parsed.success) throw unrecoverable('The data of this job does not fit the queue removal.')
    const { workspaceId, purgeId } = parsed.output
    const onProgress = (removed: number): Promise<void> => job.updateProgress({ removed })
    try {
      const ended = await whenAvailable(
        () => removePurgedRecords(dependencies, { workspaceId, purgeId, attempts }, onProgress),
        stop,
      )
      if (ended !== undefined) onPurged(ended.number, attempts)
      return 'done'
    } catch (error) {
      const fault = describeFault(error)
      log('error', 'job_failed', { queue: job.queueName, workspaceId, purgeId, attempts, fault })
      throw withoutCause(fault)
    }
  }
