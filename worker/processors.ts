import * as v from 'valibot'
import { type DeliveredJob, giveBack, hopeless, isHopeless } from '../queue/delivered-job.ts'
import type { ReadBarrier } from '../queue/barrier.ts'
import {
  deliveredJob,
  type JobOf,
  type SettledJob,
  QUEUE_OF,
  settledJob,
  type SubmissionJob,
  type TaggingJob,
  taggingJob,
} from '../contract/job.ts'
import type { Log } from '../process/log.ts'
import type { HashKey } from '../contract/identity/own-id.ts'
import { feedbackSayings, sayingsOf } from '../contract/identity/sayings.ts'
import type { QueueName } from '../contract/queues.ts'
import { setAside } from '../db/submissions/dead.ts'
import { describeFault, isPermanentFault } from '../process/fault.ts'
import type { ForgetBodies } from '../queue/job-queues.ts'
import type { Sql } from '../db/postgres.ts'
import { type PurgeCounts, purgeRow } from '../db/purges/purge.ts'
import type { SettleJobs } from '../queue/settle-jobs.ts'
import type { SettledSubmission, OpenBooks } from '../queue/open-books.ts'
import { type PurgeRows, type Rows, type NotApplied, store } from '../db/store.ts'
import type { Span, Tracing } from '../process/tracing.ts'
import { withinTime } from '../process/within-time.ts'
import { inTurn } from './in-turn.ts'
import { learningPace } from './learning-pace.ts'
import { rowsOf } from './rows.ts'
import { isSuspect, type SuspectsApart, suspectsApart } from './suspects.ts'
import { tag, taggingFor } from './tagging.ts'
import { beginSubmission, beginTagging, inSpan, tracedTagging } from './trace-jobs.ts'
import { whenAvailable } from './when-available.ts'

export type Processor = (job: DeliveredJob, lockToken?: string) => Promise<unknown>

export type WorkerDependencies = {
  sql: Sql
  hashKey: HashKey
  settlement: OpenBooks
  readBarrier: ReadBarrier
  bringForward: (submissionIds: readonly string[]) => Promise<ReadonlyMap<string, number>>
  enqueueTagging: (jobs: readonly TaggingJob[]) => Promise<void>
  forgetBodies: ForgetBodies
  settleJobs: SettleJobs
  clearBooks: (settled: SettledJob) => Promise<void>
  finishPurge: (
    purge: JobOf<'purge_contact'>,
    at: { attempts: number; onProgress: (removed: number) => Promise<void> },
  ) => Promise<PurgeCounts>
  /** A statement that has not been answered by then hangs with its connection: it is sent once more, on another. */
  answerWithinMs: number
  tracing: Tracing | undefined
  log: Log
  /** The process wants to end: nobody waits for a server any more. */
  stop: AbortSignal
}

// A batch costs the worker, Redis and Postgres much the same however small it is: gathering for 50 ms under load, and 20 ms before
// fetching, took the processor time of a submission to 291 µs, end to end; for 20 ms and 5 ms, 310. So a second statement is begun
// only with a batch that is large enough. It waits in Postgres for the first, which leaves it nothing to wait for: of two processors
// 1.5 were busy while a backlog was drained, 1.65 with two.
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
const GIVEN_BACK_FOR_MS = 250

/** What is done with the jobs of each queue. */
export const createProcessors = (dependencies: WorkerDependencies): Readonly<Record<QueueName, Processor>> => {
  const storeInTurn = storing(dependencies)
  const apart = suspectsApart()
  const storeSubmission = submissions(dependencies, apart, async (delivery) => {
    const { submission, attempts } = delivery
    if (submission.operation === 'purge_contact') throw hopeless('A purge in the wrong queue.')
    return storeInTurn(itemOf(dependencies, delivery, rowsOf(dependencies.hashKey, submission, attempts)))
  })
  return {
    feedback: storeSubmission,
    contacts: storeSubmission,
    accounts: storeSubmission,
    conversations: storeSubmission,
    purges: submissions(dependencies, apart, purging(dependencies, storeInTurn)),
    tagging: tagging(dependencies),
  }
}

/** `token`: in the lock of the job. */
type Delivery = {
  job: DeliveredJob
  token: string
  submission: SubmissionJob
  attempts: number
  span: Span | undefined
}
type Work = (delivery: Delivery) => Promise<unknown>
type Item = {
  workspaceId: string
  number: number
  isPurge: boolean
  weight: number
  queue: QueueName
  isImpatient?: boolean
  rows: Rows | PurgeRows
  submission: SubmissionJob
  settled: SettledSubmission
  job: DeliveredJob
  token: string
  span?: Span | undefined
}
type StoreOutcome = 'applied' | NotApplied['state'] | 'decided'
type StoreInTurn = (item: Item) => Promise<StoreOutcome | 'given-back'>

const itemOf = (
  { hashKey }: WorkerDependencies,
  { job, token, submission, span }: Delivery,
  rows: Rows | PurgeRows,
): Item => ({
  workspaceId: submission.workspaceId,
  number: submission.number,
  isPurge: 'purge' in rows,
  weight: 'messages' in rows ? 1 + (rows.messages?.length ?? 0) : 1,
  queue: QUEUE_OF[submission.operation],
  rows,
  submission,
  settled: settledBy(hashKey, submission, rows),
  job,
  token,
  span,
  isImpatient: isSuspect(job.stalledCounter),
})

const settledBy = (hashKey: HashKey, submission: SubmissionJob, rows?: Rows | PurgeRows): SettledSubmission => {
  const { workspaceId, submissionId, number } = submission
  const feedback = rows && 'feedback' in rows ? rows.feedback : undefined
  // The row of a feedback has its references already, and hashing them anew is not free.
  const sayings = feedback
    ? feedbackSayings({ contact: feedback.contact_ref, project: feedback.project_ref }, feedback.source)
    : sayingsOf({ hashKey, workspaceId }, submission)
  return { workspaceId, submissionId, number, sayings }
}

/** Stores submissions of all queues together and decides purges among them, in batches; each is answered on its own. */
const storing = (dependencies: WorkerDependencies): StoreInTurn => {
  const { sql, settlement, readBarrier, bringForward, enqueueTagging, settleJobs, answerWithinMs, tracing, stop } =
    dependencies
  const pace = learningPace(Date.now)
  return inTurn({
    readBarrier,
    bringForward,
    store: async (batch: readonly Item[]): Promise<StoreOutcome[]> => {
      if (tracing) for (const { span } of batch) span?.set({ 'messaging.batch.message_count': batch.length })
      const rows = batch.map((item) => item.rows)
      const notApplied = await whenAvailable(() => withinTime(store(sql, rows), answerWithinMs), stop)
      const states = new Map(notApplied.map(({ id, state }) => [id, state]))
      return batch.map(({ isPurge, submission }) =>
        isPurge ? 'decided' : (states.get(submission.submissionId) ?? 'applied'),
      )
    },
    // After a crash in between the jobs are delivered again, and these steps taken again.
    conclude: async (batch, results) => {
      const stored = batch.flatMap((item, index) => (item.isPurge ? [] : [{ ...item, result: results[index] }]))
      const untagged = taggingFor(
        stored.flatMap(({ rows }) => ('submission' in rows ? [rows] : [])),
        pace,
      )
      await enqueueTagging(tracing ? tracedTagging(untagged, batch) : untagged)
      await settleJobs(stored)
      await settlement.decided(batch.filter(({ isPurge }) => isPurge).map((item) => item.settled))
    },
    isPermanent: isPermanentFault,
    now: Date.now,
    bounds: BOUNDS,
  })
}

/** A purge is decided in its place among the others; then its records are removed, while the others go on. */
const purging =
  (dependencies: WorkerDependencies, storeInTurn: StoreInTurn): Work =>
  async (delivery) => {
    const { job, submission, attempts } = delivery
    if (submission.operation !== 'purge_contact') throw hopeless('No purge in the queue of purges.')
    const rows = { workspaceId: submission.workspaceId, purge: purgeRow(dependencies.hashKey, submission) }
    const item = itemOf(dependencies, delivery, rows)
    const decided = await storeInTurn(item)
    if (decided === 'given-back') return decided
    const onProgress = (removed: number): Promise<void> => job.updateProgress({ removed })
    const counts = await whenAvailable(
      () => dependencies.finishPurge(submission, { attempts, onProgress }),
      dependencies.stop,
    )
    await dependencies.forgetBodies([submission])
    await dependencies.settlement.settle([item.settled])
    return counts
  }

/** Works on the submission of a job: until it is settled, or is to be tried again. */
const submissions =
  (dependencies: WorkerDependencies, apart: SuspectsApart, work: Work): Processor =>
  async (job, lockToken) => {
    // Delivered again after it was settled: its worker may have died before it was off the books.
    if (v.is(settledJob, job.data)) {
      await dependencies.clearBooks(job.data)
      return 'settled'
    }
    const parsed = v.safeParse(deliveredJob, job.data)
    // Nothing of ours queues such a job; it is left where operators see it.
    if (!parsed.success) throw hopeless('This is no job of this version.')
    const submission = parsed.output as SubmissionJob
    const attempts = job.attemptsMade + 1
    const span = dependencies.tracing && beginSubmission(dependencies.tracing, submission, attempts)
    const delivery: Delivery = { job, token: lockToken!, submission, attempts, span }
    return inSpan(span, async () => {
      const result = await settledOrDead(dependencies, delivery, () => apart(job.stalledCounter, () => work(delivery)))
      if (result !== 'given-back') return result
      return giveBack(job, delivery.token, GIVEN_BACK_FOR_MS)
    })
  }

/**
 * A submission that cannot be stored, or was tried often enough, is set aside in Postgres and so settled: its job is done, it
 * lies in nobody's way, and it can be replayed from there.
 */
const settledOrDead = async (
  dependencies: WorkerDependencies,
  { job, submission, attempts, span }: Delivery,
  work: () => Promise<unknown>,
): Promise<unknown> => {
  try {
    return await work()
  } catch (error) {
    const { workspaceId, submissionId } = submission
    const fault = describeFault(error)
    span?.fail(fault)
    dependencies.log('error', 'job_failed', { queue: job.queueName, workspaceId, submissionId, attempts, fault })
    const isLast = isPermanentFault(error) || isHopeless(error) || attempts >= (job.opts.attempts ?? 1)
    if (!isLast) throw withoutCause(fault)
    const dead = { job: submission, attempts, reason: fault }
    await whenAvailable(() => setAside(dependencies.sql, dependencies.hashKey, dead), dependencies.stop)
    await dependencies.forgetBodies([submission])
    await dependencies.settlement.settle([settledBy(dependencies.hashKey, submission)])
    return 'dead'
  }
}

const tagging =
  ({ sql, hashKey, tracing, log, stop }: WorkerDependencies): Processor =>
  async (job) => {
    const attempts = job.attemptsMade + 1
    const parsed = v.safeParse(taggingJob, job.data)
    if (!parsed.success) throw hopeless('This is no job of this version.')
    const texts = parsed.output
    const spans = tracing && beginTagging(tracing, texts, attempts)
    try {
      return await whenAvailable(() => tag({ sql, hashKey }, texts), stop)
    } catch (error) {
      const fault = describeFault(error)
      const { workspaceId } = texts
      log('error', 'job_failed', { queue: job.queueName, jobId: job.id, workspaceId, attempts, fault })
      spans?.forEach((span) => span.fail(fault))
      throw withoutCause(fault)
    } finally {
      spans?.forEach((span) => span.end())
    }
  }

/** What Redis keeps of a failure. The cause stays out: it can quote a customer's data. */
const withoutCause = (fault: string): Error => new Error(fault)
