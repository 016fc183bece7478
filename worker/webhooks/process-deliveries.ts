import { webhookJob } from '../../contract/jobs.ts'
import { listDueWebhooks } from '../../db/webhooks.ts'
import { addDeliveries } from '../../queue/jobs/job-queues.ts'
import type { MaintenanceTask, ProcessorDependencies } from '../capability.ts'
import { attempt, dataOf, type Processor } from '../process-job.ts'
import { deliver, deliverTest } from './deliver.ts'
import { createPlaces } from './places.ts'

/** Adds a job for each webhook with changes to deliver, unless the webhook has one. */
export const wakeWebhooks: MaintenanceTask = {
  name: 'wake-webhooks',
  everyMs: 1_000,
  run: async ({ sql, queues }) => {
    await addDeliveries(queues, await listDueWebhooks(sql))
    return {}
  },
}

/**
 * Delivers to the webhook of a job. The result is how many changes it delivered, or the outcome of a
 * test. Without a free place, it delivers none, and maintenance adds a job again.
 */
export const createDeliveries = (stores: ProcessorDependencies): { webhook: Processor } => {
  const dependencies = { ...stores, places: createPlaces() }
  return {
    webhook: (job) => {
      const { workspaceId, webhookId, isTest } = dataOf(job, webhookJob)
      const named = { workspaceId, id: webhookId }
      const work = async (): Promise<number | string> =>
        isTest
          ? deliverTest(dependencies, named)
          : ((await dependencies.places.inPlace(workspaceId, () => deliver(dependencies, named))) ?? 0)
      return attempt(dependencies, { job, ids: { workspaceId, webhookId } }, work)
    },
  }
}
