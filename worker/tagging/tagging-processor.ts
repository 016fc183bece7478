import * as v from 'valibot'
import { taggingJob } from '../../contract/jobs.ts'
import { describeFault } from '../../runtime/fault.ts'
import { unrecoverable } from '../../queue/jobs/open-worker.ts'
import { type Processor, type WorkerDependencies, withoutCause } from '../dependencies.ts'
import { beginTagging } from '../trace-jobs.ts'
import { whenAvailable } from '../when-available.ts'
import { tag } from './tagging.ts'

/** Tags the records of a job. Returns how many it tagged. */
export const createTaggingProcessor =
  ({ sql, hashKey, tracing, log, stop }: WorkerDependencies): Processor =>
  async (job) => {
    const attempts = job.attemptsMade + 1
    const parsed = v.safeParse(taggingJob, job.data)
    if (!parsed.success) throw unrecoverable('The data of this job does not fit the queue tagging.')
    const texts = parsed.output
    const spans = tracing && beginTagging(tracing, texts, attempts)
    try {
      return await whenAvailable(() => tag({ sql, hashKey }, texts), stop)
    } catch (error) {
      const fault = describeFault(error)
      const { workspaceId } = texts
      log('error', 'job_failed', { queue: job.queueName, jobId: job.id, workspaceId, attempts, fault })
      spans?.forEach((span) => span.fail(fault))
      throw withoutCause(fault)
    } finally {
      spans?.forEach((span) => span.end())
    }
  }
