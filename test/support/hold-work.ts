import type { JobQueues } from '../../queue/jobs/job-queues.ts'
import { until } from './until.ts'

/**
 * Stops the application of submissions: pauses the queues that wake workers, and waits until no
 * worker has one of their jobs.
 */
export const holdWork = async ({ wake, backlog }: JobQueues): Promise<void> => {
  await Promise.all([wake.pause(), backlog.pause()])
  await until('no worker applies submissions', async () => {
    const active = await Promise.all([wake.getActiveCount(), backlog.getActiveCount()])
    return active.every((count) => count === 0)
  })
}

export const resumeWork = async ({ wake, backlog }: JobQueues): Promise<void> => {
  await Promise.all([wake.resume(), backlog.resume()])
}
