import type { PurgeCounts } from '../db/purges/purge.ts'
import type { NotApplied, PurgeRows, Rows } from '../db/store.ts'
import type { Span } from '../process/tracing.ts'
import type { Batch, Batched } from '../queue/batch.ts'
import type { DeliveredJob } from '../queue/delivered-job.ts'

/** What a queue's worker does with each job. What it returns is kept as the job's result. */
export type Processor = (job: DeliveredJob) => Promise<unknown>

/** A submission in the hands of this worker, as rows. */
export type InHand = Batched & { rows: Rows | PurgeRows; span: Span | undefined }

/** A batch in the hands of this worker. `attempts` counts this attempt, too. */
export type Delivery = {
  batch: Batch
  inHand: readonly InHand[]
  attempts: number
  isSuspect: boolean
}

/** What storing came to for a submission; `decided` for a purge, whose records are still there. */
export type StoreOutcome = 'applied' | NotApplied['state'] | 'decided' | 'dead'

/** What became of a submission: its state, or the counts of a purge that has ended. */
export type Outcome = StoreOutcome | PurgeCounts

/** What Redis keeps of a failure. The cause stays out: it can quote a customer's data. */
export const withoutCause = (fault: string): Error => new Error(fault)
