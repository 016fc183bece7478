import type { Job } from 'bullmq'
import { type Operation, QUEUE_OF } from '../contract/job.ts'
import type { Receipt } from '../contract/receipt.ts'
import type { JobQueues } from './job-queues.ts'

const MICROSECONDS_PER_MS = 1_000

/** The receipt of a submission of this workspace that is still queued. */
export const findQueuedReceipt = async (
  queues: JobQueues,
  workspaceId: string,
  id: string,
): Promise<Receipt | undefined> => {
  const names = [...new Set(Object.values(QUEUE_OF))]
  const jobs = await Promise.all(names.map((name) => queues[name].getJob(id) as Promise<Job | undefined>))
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
