import { DelayedError, type Job, UnrecoverableError } from 'bullmq'
import * as v from 'valibot'
import type { LowestOutstanding, Settle, Settled } from '../db/admission.ts'
import { inBatches } from '../db/contract/in-batches.ts'
import { type JobOf, type SubmissionJob, submissionJob, type TaggingJob, taggingJob } from '../db/contract/job.ts'
import type { Log } from '../db/contract/log.ts'
import type { HashKey } from '../db/contract/own-id.ts'
import { pendingOf } from '../db/contract/pending.ts'
import type { QueueName } from '../db/contract/queues.ts'
import { describeFault, isPermanentFault } from '../db/fault.ts'
import type { FindContacts } from '../db/find-contacts.ts'
import type { Sql } from '../db/postgres.ts'
import { type Rows, store } from '../db/store.ts'
import { purge } from './purge.ts'
import { rowsOf } from './rows.ts'
import { tag, taggingFor } from './tagging.ts'

export type Processor = (job: Job, lockToken?: string) => Promise<unknown>

export type WorkerDependencies = {
  sql: Sql
  hashKey: HashKey
  findContacts: FindContacts
  settle: Settle
  lowestOutstanding: LowestOutstanding
  enqueueTagging: (jobs: readonly TaggingJob[]) => Promise<void>
  log: Log
}

/** At most this many submissions are stored by one statement; a lone one waits this long for company. */
const BATCH = { items: 500, waitMs: 5 }
const PURGE_LOOKS_AGAIN_AFTER_MS = 50

/** What is done with the jobs of each queue. */
export const createProcessors = (dependencies: WorkerDependencies): Readonly<Record<QueueName, Processor>> => {
  const { sql, log } = dependencies
  return {
    feedback: answering(log, storing(dependencies)),
    contacts: answering(log, storing(dependencies)),
    accounts: answering(log, storing(dependencies)),
    conversations: answering(log, storing(dependencies)),
    tagging: answering(log, (job) => tag(sql, v.parse(taggingJob, job.data))),
    purges: answering(log, purging(dependencies)),
  }
}

type Item = { rows: Rows; settled: Settled }

const storing = ({ sql, hashKey, settle, enqueueTagging }: WorkerDependencies): Processor => {
  const storeInBatches = inBatches(
    async (batch: readonly Item[]) => {
      const rows = batch.map((item) => item.rows)
      const states = new Map((await store(sql, rows)).map(({ id, state }) => [id, state]))
      // Before the jobs are answered: after a crash in between they are delivered again, and these steps taken again.
      await settle(batch.map((item) => item.settled))
      await enqueueTagging(taggingFor(rows))
      return rows.map(({ submission }) => states.get(submission.id) ?? 'applied')
    },
    BATCH,
    isPermanentFault,
  )
  return (job) => {
    const submission = v.parse(submissionJob, job.data)
    if (submission.operation === 'purge_contact') throw new UnrecoverableError('A purge in the wrong queue.')
    return storeInBatches({
      rows: rowsOf(hashKey, submission, job.attemptsMade + 1),
      settled: settledBy(hashKey, submission),
    })
  }
}

const settledBy = (hashKey: HashKey, submission: SubmissionJob): Settled => {
  const { workspaceId, submissionId, number } = submission
  return { workspaceId, submissionId, number, pending: pendingOf({ hashKey, workspaceId }, submission) }
}

/** A purge waits until nothing of its workspace with a lower number is outstanding: all of that says whom it concerns. */
const purging =
  (dependencies: WorkerDependencies): Processor =>
  async (job, lockToken) => {
    const submission = v.parse(submissionJob, job.data)
    if (submission.operation !== 'purge_contact') throw new UnrecoverableError('No purge in the queue of purges.')
    const lowest = await dependencies.lowestOutstanding(submission.workspaceId)
    if (lowest !== undefined && lowest < submission.number) {
      await job.moveToDelayed(Date.now() + PURGE_LOOKS_AGAIN_AFTER_MS, lockToken)
      throw new DelayedError()
    }
    return purgeAndSettle(dependencies, job, submission)
  }

const purgeAndSettle = async (dependencies: WorkerDependencies, job: Job, submission: JobOf<'purge_contact'>) => {
  const counts = await purge(dependencies, submission, {
    attempts: job.attemptsMade + 1,
    onProgress: (removed) => job.updateProgress({ removed }),
  })
  await dependencies.settle([settledBy(dependencies.hashKey, submission)])
  return counts
}

/** Runs a job's work; what cannot be mended by trying again is not tried again. */
const answering =
  (log: Log, work: Processor): Processor =>
  async (job, lockToken) => {
    try {
      return await work(job, lockToken)
    } catch (error) {
      if (error instanceof DelayedError) throw error
      const fault = describeFault(error)
      log('error', 'job_failed', { queue: job.queueName, submissionId: job.id, attempt: job.attemptsMade + 1, fault })
      throw asKept(error, fault)
    }
  }

/** What Redis keeps of a failure: without its cause, which can quote a customer's data. */
const asKept = (error: unknown, fault: string): Error =>
  isPermanentFault(error) || error instanceof v.ValiError || error instanceof UnrecoverableError
    ? new UnrecoverableError(fault)
    : new Error(fault)
