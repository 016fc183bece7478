import { type Job, UnrecoverableError } from 'bullmq'

/** A job as a worker has it in hand. */
export type DeliveredJob = Job

/** An error after which a job is not tried again: it stays where operators see it. */
export const hopeless = (why: string): Error => new UnrecoverableError(why)
