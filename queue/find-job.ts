import type { Queue } from 'bullmq'
import * as v from 'valibot'
import { QUEUE_OF, settledJob } from '../contract/job.ts'
import type { JobQueues } from './job-queues.ts'

/** Whether a submission's job is there and not completed. */
export const hasJob = async (queues: JobQueues, submissionId: string): Promise<boolean> => {
  const names = [...new Set(Object.values(QUEUE_OF))]
  const states = await Promise.all(names.map((name) => queues[name].getJobState(submissionId)))
  return states.some((state) => state !== 'unknown' && state !== 'completed')
}

/**
 * Makes room for a job under the id of one that is finished: it is kept for a while, and nothing can be queued under its id. False
 * while its worker is about to finish it.
 */
export const makeRoom = async (queue: Queue, id: string): Promise<boolean> => {
  const state = await queue.getJobState(id)
  if (state === 'completed' || state === 'failed') await queue.remove(id)
  const job: unknown = (await queue.getJob(id))?.data
  return !v.is(settledJob, job)
}
