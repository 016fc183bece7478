import { dueWebhooks } from '../../db/webhooks.ts'
import { addDeliveries } from '../../queue/jobs/job-queues.ts'
import type { Service } from './service.ts'

/** Adds a job for each webhook with changes to deliver, unless it has one. */
export const wakeWebhooks: Service = {
  name: 'wake-webhooks',
  everyMs: 1_000,
  run: async ({ sql, queues }) => {
    await addDeliveries(queues, await dueWebhooks(sql))
    return {}
  },
}
