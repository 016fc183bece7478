import type { SubmissionJob } from '../contract/job.ts'
import type { PurgeCounts } from '../db/purges/purge.ts'
import type { NotApplied } from '../db/store.ts'
import type { Span } from '../process/tracing.ts'
import type { DeliveredJob } from '../queue/delivered-job.ts'

/** What a queue's worker does with each job. What it returns is kept as the job's result. */
export type Processor = (job: DeliveredJob, lockToken?: string) => Promise<unknown>

/** A submission in the hands of this worker. `token` is in the lock of the job; `attempts` counts this attempt, too. */
export type Delivery = {
  job: DeliveredJob
  token: string
  submission: SubmissionJob
  attempts: number
  span: Span | undefined
}

/** What storing a batch came to for one of its submissions; `decided` for a purge, whose records are still there. */
export type StoreOutcome = 'applied' | NotApplied['state'] | 'decided'

/** What the work on a submission came to: it is settled, a purge with what it removed, or it is given back to its queue. */
export type WorkOutcome = StoreOutcome | PurgeCounts | 'given-back'
export type Work = (delivery: Delivery) => Promise<WorkOutcome>

/** What Redis keeps of a failure. The cause stays out: it can quote a customer's data. */
export const withoutCause = (fault: string): Error => new Error(fault)
