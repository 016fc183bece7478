import type { Queue } from 'bullmq'
import * as v from 'valibot'
import { settledJob } from '../contract/job.ts'
import { type JobQueues, SUBMISSION_QUEUES } from './job-queues.ts'

/** Whether a submission's job is there and not completed. */
export const hasJob = async (queues: JobQueues, submissionId: string): Promise<boolean> => {
  const states = await Promise.all(SUBMISSION_QUEUES.map((name) => queues[name].getJobState(submissionId)))
  return states.some((state) => state !== 'unknown' && state !== 'completed')
}

/**
 * Makes room for a job under the id of a finished one, which is kept for a while and blocks its id. False while the worker of the other
 * job is about to finish it.
 */
export const makeRoom = async (queue: Queue, id: string): Promise<boolean> => {
  const state = await queue.getJobState(id)
  if (state === 'completed' || state === 'failed') await queue.remove(id)
  const job: unknown = (await queue.getJob(id))?.data
  return !v.is(settledJob, job)
}
