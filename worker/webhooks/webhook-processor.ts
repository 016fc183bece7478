import * as v from 'valibot'
import { webhookJob } from '../../contract/jobs.ts'
import { describeFault } from '../../runtime/fault.ts'
import { unrecoverable } from '../../queue/jobs/open-worker.ts'
import { type Processor, type WorkerDependencies, withoutCause } from '../dependencies.ts'
import { whenAvailable } from '../when-available.ts'
import { deliver, deliverTest } from './deliver.ts'

/**
 * Delivers to the webhook of a job. Returns how many changes it delivered, or the outcome of a
 * test.
 */
export const createWebhookProcessor =
  (dependencies: WorkerDependencies & { allowedHosts: readonly string[] }): Processor =>
  async (job) => {
    const parsed = v.safeParse(webhookJob, job.data)
    if (!parsed.success) throw unrecoverable('The data of this job does not fit the queue webhook.')
    const { workspaceId, webhookId, isTest } = parsed.output
    const named = { workspaceId, id: webhookId }
    const work = (): Promise<number | string> => (isTest ? deliverTest : deliver)(dependencies, named)
    try {
      return await whenAvailable(work, dependencies.stop)
    } catch (error) {
      const fault = describeFault(error)
      dependencies.log('error', 'job_failed', { queue: job.queueName, workspaceId, webhookId, fault })
      throw withoutCause(fault)
    }
  }
