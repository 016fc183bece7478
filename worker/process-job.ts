import * as v from 'valibot'
import { type DeliveredJob, unrecoverable, withoutCause } from '../queue/jobs/open-worker.ts'
import { describeFault } from '../runtime/fault.ts'
import type { Logger } from '../runtime/logger.ts'
import { whenAvailable } from './when-available.ts'

/** Processes a job of one queue. BullMQ keeps the result with the job. */
export type Processor = (job: DeliveredJob) => Promise<unknown>

/** `stop`: aborted when the process is to end. Then no job waits for Postgres to come back. */
export type JobDependencies = { log: Logger; stop: AbortSignal }

export const dataOf = <S extends v.GenericSchema>(job: DeliveredJob, schema: S): v.InferOutput<S> => {
  const parsed = v.safeParse(schema, job.data)
  if (!parsed.success) throw unrecoverable(`The data of this job does not fit the queue ${job.queueName}.`)
  return parsed.output
}

export const attemptOf = (job: DeliveredJob): number => job.attemptsMade + 1

type Attempt = { job: DeliveredJob; ids: Readonly<Record<string, unknown>>; onFault?: (fault: string) => void }

/**
 * Does the work of a job, and repeats it until no outage of Postgres interrupts it. Logs the failure
 * that ends the attempt.
 */
export const attempt = async <T>(
  { log, stop }: JobDependencies,
  { job, ids, onFault }: Attempt,
  work: () => Promise<T>,
): Promise<T> => {
  try {
    return await whenAvailable(work, stop)
  } catch (error) {
    const fault = describeFault(error)
    log('error', 'job_failed', { queue: job.queueName, attempts: attemptOf(job), ...ids, fault })
    onFault?.(fault)
    throw withoutCause(fault)
  }
}
