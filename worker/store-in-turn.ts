import { QUEUE_OF } from '../contract/job.ts'
import { type PurgeRows, type Rows, store } from '../db/store.ts'
import { isPermanentFault } from '../process/fault.ts'
import { withinTime } from '../process/within-time.ts'
import { barrierIn } from '../queue/barrier.ts'
import { bringForward, enqueueTagging } from '../queue/job-queues.ts'
import type { SettledSubmission } from '../queue/open-books.ts'
import { type SettleJobs, settleJobsIn } from '../queue/settle-jobs.ts'
import type { Delivery, StoreOutcome } from './delivery.ts'
import type { WorkerDependencies } from './dependencies.ts'
import { inTurn, type Placed } from './in-turn.ts'
import { settledSubmission, type Settling } from './settle.ts'
import { isSuspect } from './suspects.ts'
import { type LearningPace, learningPace } from './tagging/learning-pace.ts'
import { taggingFor } from './tagging/tagging.ts'
import { tracedTagging } from './trace-jobs.ts'
import { whenAvailable } from './when-available.ts'

// A batch costs the worker, Redis and Postgres much the same however small it is: gathering for 50 ms under load, and 20 ms
// before fetching, took the processor time of a submission to 291 µs, end to end; 20 ms and 5 ms took it to 310. So a second
// statement is begun only with a batch that is large enough. That statement waits in Postgres for the first, which then has
// nothing to wait for: of two processors 1.5 were busy while a backlog was drained, 1.65 with two statements.
const BOUNDS = {
  items: 500,
  waitMs: 5,
  busyFrom: 16,
  busyWaitMs: 50,
  enough: 250,
  parallel: 2,
  lookAgainAfterMs: 20,
  stuckAfterMs: 1_000,
  exchanged: 20,
}

type Item = Placed & Delivery & { rows: Rows | PurgeRows; settled: SettledSubmission }
type Dependencies = WorkerDependencies & Settling

export type StoreInTurn = (delivery: Delivery, rows: Rows | PurgeRows) => Promise<StoreOutcome | 'given-back'>

/** Stores submissions of all queues together and decides purges among them, in batches; each is answered on its own. */
export const storingInTurn = (dependencies: Dependencies): StoreInTurn => {
  const { redis, prefix, queues, books, forgetBodies, hashKey } = dependencies
  const settleJobs = settleJobsIn({ redis, prefix, queues, settlement: books, forgetBodies })
  const concluding = { ...dependencies, settleJobs, pace: learningPace(Date.now) }
  const handIn = inTurn<Item, StoreOutcome>({
    readBarrier: barrierIn(redis, prefix),
    bringForward: (submissionIds) => bringForward(redis, queues, submissionIds),
    store: (batch) => storeBatch(dependencies, batch),
    conclude: (batch, outcomes) => conclude(concluding, batch, outcomes),
    isPermanent: isPermanentFault,
    now: Date.now,
    bounds: BOUNDS,
  })
  return (delivery, rows) => {
    const { job, submission } = delivery
    return handIn({
      ...delivery,
      workspaceId: submission.workspaceId,
      number: submission.number,
      isPurge: 'purge' in rows,
      weight: 'messages' in rows ? 1 + (rows.messages?.length ?? 0) : 1,
      queue: QUEUE_OF[submission.operation],
      isImpatient: isSuspect(job.stalledCounter),
      rows,
      settled: settledSubmission(hashKey, submission, rows),
    })
  }
}

const storeBatch = async (
  { sql, answerWithinMs, stop }: Dependencies,
  batch: readonly Item[],
): Promise<StoreOutcome[]> => {
  for (const { span } of batch) span?.set({ 'messaging.batch.message_count': batch.length })
  const rows = batch.map((item) => item.rows)
  const notApplied = await whenAvailable(() => withinTime(store(sql, rows), answerWithinMs), stop)
  const states = new Map(notApplied.map(({ id, state }) => [id, state]))
  return batch.map(({ isPurge, submission }) =>
    isPurge ? 'decided' : (states.get(submission.submissionId) ?? 'applied'),
  )
}

/** After a crash between any two of these steps the jobs are delivered again, and the steps are taken again. */
const conclude = async (
  { queues, books, tracing, settleJobs, pace }: Dependencies & { settleJobs: SettleJobs; pace: LearningPace },
  batch: readonly Item[],
  outcomes: readonly StoreOutcome[],
): Promise<void> => {
  const stored = batch.flatMap((item, at) => (item.isPurge ? [] : [{ ...item, result: outcomes[at] }]))
  const untagged = taggingFor(
    stored.flatMap(({ rows }) => ('submission' in rows ? [rows] : [])),
    pace,
  )
  await enqueueTagging(queues, tracing ? tracedTagging(untagged, batch) : untagged)
  await settleJobs(stored)
  await books.decided(batch.filter(({ isPurge }) => isPurge).map(({ settled }) => settled))
}
