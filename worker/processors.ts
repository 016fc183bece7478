import { DelayedError, type Job, UnrecoverableError } from 'bullmq'
import * as v from 'valibot'
import type { LowestOf, Settle, Settled } from '../db/admission.ts'
import { inBatches } from '../db/contract/in-batches.ts'
import { type JobOf, type SubmissionJob, submissionJob, type TaggingJob, taggingJob } from '../db/contract/job.ts'
import type { Log } from '../db/contract/log.ts'
import type { HashKey } from '../db/contract/own-id.ts'
import { pendingOf } from '../db/contract/pending.ts'
import type { QueueName } from '../db/contract/queues.ts'
import { setAside } from '../db/dead.ts'
import { describeFault, isPermanentFault } from '../db/fault.ts'
import type { FindContacts } from '../db/find-contacts.ts'
import type { Sql } from '../db/postgres.ts'
import { type Rows, type SettledSubmission, store } from '../db/store.ts'
import { purge } from './purge.ts'
import { rowsOf } from './rows.ts'
import { tag, taggingFor } from './tagging.ts'
import { whenAvailable } from './when-available.ts'

export type Processor = (job: Job, lockToken?: string) => Promise<unknown>

export type WorkerDependencies = {
  sql: Sql
  hashKey: HashKey
  findContacts: FindContacts
  settle: Settle
  lowestOutstanding: LowestOf
  lowestPurge: LowestOf
  enqueueTagging: (jobs: readonly TaggingJob[]) => Promise<void>
  log: Log
  /** The process wants to end: nobody waits for a server any more. */
  stop: AbortSignal
}

/** At most this many submissions are stored by one statement; a lone one waits this long for company. */
const BATCH = { items: 500, waitMs: 5 }
const PURGE_LOOKS_AGAIN_AFTER_MS = 50
const LATER_THAN_PURGE_LOOKS_AGAIN_AFTER_MS = 250

/** What is done with the jobs of each queue. */
export const createProcessors = (dependencies: WorkerDependencies): Readonly<Record<QueueName, Processor>> => ({
  feedback: submissions(dependencies, storing(dependencies)),
  contacts: submissions(dependencies, storing(dependencies)),
  accounts: submissions(dependencies, storing(dependencies)),
  conversations: submissions(dependencies, storing(dependencies)),
  purges: submissions(dependencies, purging(dependencies)),
  tagging: tagging(dependencies),
})

type Delivery = { job: Job; submission: SubmissionJob; lockToken: string | undefined }
type Work = (delivery: Delivery) => Promise<unknown>
type Item = { rows: Rows; settled: Settled }

/** Stores submissions in batches, each answered on its own: `applied` or `superseded`. */
const storing = (dependencies: WorkerDependencies): Work => {
  const { sql, hashKey, settle, enqueueTagging, stop } = dependencies
  const storeInBatches = inBatches(
    async (all: readonly Item[]): Promise<(SettledSubmission['state'] | 'deferred')[]> => {
      const deferred = await laterThanPurges(dependencies, all)
      const batch = all.filter((item) => !deferred.has(item))
      const rows = batch.map((item) => item.rows)
      if (batch.length === 0) return all.map(() => 'deferred')
      const stored = await whenAvailable(() => store(sql, rows), stop)
      const states = new Map(stored.map(({ id, state }) => [id, state]))
      // Before the jobs are answered: after a crash in between they are delivered again, and these steps taken again.
      await settle(batch.map((item) => item.settled))
      await enqueueTagging(taggingFor(rows))
      return all.map((item) => (deferred.has(item) ? 'deferred' : (states.get(item.rows.submission.id) ?? 'applied')))
    },
    BATCH,
    isPermanentFault,
  )
  return async ({ job, submission, lockToken }) => {
    if (submission.operation === 'purge_contact') throw new UnrecoverableError('A purge in the wrong queue.')
    const state = await storeInBatches({
      rows: rowsOf(hashKey, submission, job.attemptsMade + 1),
      settled: settledBy(hashKey, submission),
    })
    return state === 'deferred' ? lookAgain({ job, lockToken }, LATER_THAN_PURGE_LOOKS_AGAIN_AFTER_MS) : state
  }
}

/**
 * Those that were accepted after a purge which is not done yet. They wait: whom a purge concerns is decided by what came
 * before it alone, and what comes after it starts afresh.
 */
const laterThanPurges = async (
  { lowestPurge }: WorkerDependencies,
  items: readonly Item[],
): Promise<ReadonlySet<Item>> => {
  const workspaces = [...new Set(items.map(({ settled }) => settled.workspaceId))]
  const purges = new Map(await Promise.all(workspaces.map(async (id) => [id, await lowestPurge(id)] as const)))
  return new Set(items.filter(({ settled }) => settled.number > (purges.get(settled.workspaceId) ?? Infinity)))
}

const lookAgain = async ({ job, lockToken }: Pick<Delivery, 'job' | 'lockToken'>, afterMs: number): Promise<never> => {
  await job.moveToDelayed(Date.now() + afterMs, lockToken)
  throw new DelayedError()
}

const settledBy = (hashKey: HashKey, submission: SubmissionJob): Settled => {
  const { workspaceId, submissionId, number } = submission
  return { workspaceId, submissionId, number, pending: pendingOf({ hashKey, workspaceId }, submission) }
}

/** A purge waits until nothing of its workspace with a lower number is outstanding: all of that says whom it concerns. */
const purging =
  (dependencies: WorkerDependencies): Work =>
  async ({ job, submission, lockToken }) => {
    if (submission.operation !== 'purge_contact') throw new UnrecoverableError('No purge in the queue of purges.')
    const lowest = await dependencies.lowestOutstanding(submission.workspaceId)
    if (lowest !== undefined && lowest < submission.number) {
      return lookAgain({ job, lockToken }, PURGE_LOOKS_AGAIN_AFTER_MS)
    }
    return whenAvailable(() => purgeAndSettle(dependencies, job, submission), dependencies.stop)
  }

const purgeAndSettle = async (dependencies: WorkerDependencies, job: Job, submission: JobOf<'purge_contact'>) => {
  const counts = await purge(dependencies, submission, {
    attempts: job.attemptsMade + 1,
    onProgress: (removed) => job.updateProgress({ removed }),
  })
  await dependencies.settle([settledBy(dependencies.hashKey, submission)])
  return counts
}

/**
 * Works on the submission of a job. One that cannot be stored, or was tried often enough, is set aside in Postgres and so
 * settled: its job is done, it lies in nobody's way, and it can be replayed from there.
 */
const submissions =
  (dependencies: WorkerDependencies, work: Work): Processor =>
  async (job, lockToken) => {
    const parsed = v.safeParse(submissionJob, job.data)
    // Nothing of ours queues such a job; it is left where operators see it.
    if (!parsed.success) throw new UnrecoverableError('This is no job of this version.')
    const submission = parsed.output
    try {
      return await work({ job, submission, lockToken })
    } catch (error) {
      if (error instanceof DelayedError) throw error
      const fault = describeFault(error)
      const attempts = job.attemptsMade + 1
      dependencies.log('error', 'job_failed', { queue: job.queueName, submissionId: job.id, attempts, fault })
      const isLast =
        isPermanentFault(error) || error instanceof UnrecoverableError || attempts >= (job.opts.attempts ?? 1)
      if (!isLast) throw withoutCause(fault)
      const settled = settledBy(dependencies.hashKey, submission)
      const dead = { job: submission, pending: settled.pending, attempts, reason: fault }
      await whenAvailable(() => setAside(dependencies.sql, dead), dependencies.stop)
      await dependencies.settle([settled])
      return 'dead'
    }
  }

const tagging =
  ({ sql, log, stop }: WorkerDependencies): Processor =>
  async (job) => {
    try {
      return await whenAvailable(() => tag(sql, v.parse(taggingJob, job.data)), stop)
    } catch (error) {
      const fault = describeFault(error)
      log('error', 'job_failed', { queue: job.queueName, jobId: job.id, attempts: job.attemptsMade + 1, fault })
      throw withoutCause(fault)
    }
  }

/** What Redis keeps of a failure. The cause stays out: it can quote a customer's data. */
const withoutCause = (fault: string): Error => new Error(fault)
