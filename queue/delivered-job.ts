import { DelayedError, type Job, UnrecoverableError } from 'bullmq'

/** A job as a worker has it in hand. */
export type DeliveredJob = Job

/** An error after which a job is not tried again: it stays where operators see it. */
export const hopeless = (why: string): Error => new UnrecoverableError(why)
export const isHopeless = (error: unknown): boolean => error instanceof UnrecoverableError

/** Gives a job back to its queue for a while, which counts as no attempt. @throws the error by which BullMQ knows that. */
export const giveBack = async (job: DeliveredJob, token: string, forMs: number): Promise<never> => {
  await job.moveToDelayed(Date.now() + forMs, token)
  throw new DelayedError()
}
