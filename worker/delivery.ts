import type { PurgeCounts } from '../db/purges/purge.ts'
import type { NotApplied, PurgeRows, Rows } from '../db/store.ts'
import type { Span } from '../process/tracing.ts'
import type { Batched } from '../queue/batch.ts'
import type { BatchInTurn } from '../queue/books.ts'
import type { DeliveredJob } from '../queue/delivered-job.ts'

/** What a queue's worker does with each job. What it returns is kept as the job's result. */
export type Processor = (job: DeliveredJob) => Promise<unknown>

/** A submission in the hands of this worker, as rows. `isLone` is said of its batch. */
export type InHand = Batched & { rows: Rows | PurgeRows; span: Span | undefined; isLone: boolean }

/** A batch in the hands of this worker. `attempts` counts this attempt, too. */
export type Delivery = {
  batch: BatchInTurn
  inHand: readonly InHand[]
  attempts: number
  /** Of its bodies, roughly. */
  bytes: number
  isBacklog: boolean
  isSuspect: boolean
}

/** What storing came to for a submission; `decided` for a purge, whose records are still there. */
export type StoreOutcome = 'applied' | NotApplied['state'] | 'decided' | 'dead'

/** What storing a batch came to: for each submission; or the fault for which one of them could not be stored. */
export type StoredBatch = { outcomes: readonly StoreOutcome[] } | { fault: unknown }

/** What became of a submission: its state, or the counts of a purge that has ended. */
export type Outcome = StoreOutcome | PurgeCounts

/** What Redis keeps of a failure. The cause stays out: it can quote a customer's data. */
export const withoutCause = (fault: string): Error => new Error(fault)
