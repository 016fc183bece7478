import type { JobQueues } from '../../queue/jobs/job-queues.ts'
import { until } from './until.ts'

/**
 * From then on nothing is applied: the queues that wake workers are paused, and no worker has a job
 * of them in hand.
 */
export const holdWork = async ({ wake, backlog }: JobQueues): Promise<void> => {
  await Promise.all([wake.pause(), backlog.pause()])
  await until('no worker applies anything', async () => {
    const active = await Promise.all([wake.getActiveCount(), backlog.getActiveCount()])
    return active.every((count) => count === 0)
  })
}

export const resumeWork = async ({ wake, backlog }: JobQueues): Promise<void> => {
  await Promise.all([wake.resume(), backlog.resume()])
}
