import type { Job } from 'bullmq'
import type { Operation } from '../contract/job.ts'
import type { Receipt } from '../contract/receipt.ts'
import { type JobQueues, SUBMISSION_QUEUES } from './job-queues.ts'
import { MICROSECONDS_PER_MS } from './keys.ts'

/** The receipt of a submission of this workspace that is still queued. */
export const findQueuedReceipt = async (
  queues: JobQueues,
  workspaceId: string,
  id: string,
): Promise<Receipt | undefined> => {
  const jobs = await Promise.all(SUBMISSION_QUEUES.map((name) => queues[name].getJob(id) as Promise<Job | undefined>))
  const job = jobs.find((found) => found !== undefined)
  const data = job?.data as { workspaceId?: string; operation: Operation; number: number } | undefined
  if (!job || data?.workspaceId !== workspaceId) return undefined
  return {
    id,
    operation: data.operation,
    state: 'queued',
    attempts: job.attemptsMade,
    acceptedAt: new Date(Math.floor(data.number / MICROSECONDS_PER_MS)).toISOString(),
    finishedAt: null,
    error: null,
  }
}
