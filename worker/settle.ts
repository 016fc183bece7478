import type { SubmissionJob } from '../contract/job.ts'
import type { HashKey } from '../contract/identity/own-id.ts'
import { feedbackSayings, sayingsOf } from '../contract/identity/sayings.ts'
import { type DeadSubmission, setAside } from '../db/submissions/dead.ts'
import type { Sql } from '../db/postgres.ts'
import type { PurgeRows, Rows } from '../db/store.ts'
import { type ForgetBodies, forgetBodiesIn } from '../queue/job-queues.ts'
import { type OpenBooks, openBooksIn, type SettledSubmission } from '../queue/open-books.ts'
import type { WorkerStores } from './dependencies.ts'

/** What settling a submission needs. */
export type Settling = { sql: Sql; hashKey: HashKey; books: OpenBooks; forgetBodies: ForgetBodies }

export const settlingIn = ({ sql, redis, prefix, queues, hashKey }: WorkerStores): Settling => ({
  sql,
  hashKey,
  books: openBooksIn(redis, prefix),
  forgetBodies: forgetBodiesIn(redis, queues),
})

/** Settles a submission that cannot be stored: it is set aside in Postgres, from where it can be replayed. Harmless to repeat. */
export const settleAsDead = async (settling: Settling, dead: DeadSubmission): Promise<void> => {
  await setAside(settling.sql, settling.hashKey, dead)
  await settleInQueue(settling, dead.job)
}

/** Takes what Postgres has settled out of the queue: first the body of its job, then what the books say. Harmless to repeat. */
export const settleInQueue = async (
  { hashKey, books, forgetBodies }: Omit<Settling, 'sql'>,
  submission: SubmissionJob,
): Promise<void> => {
  await forgetBodies([submission])
  await books.settle([settledSubmission(hashKey, submission)])
}

/** What the books are told about a settled submission; `rows` are what it came to, if they are known. */
export const settledSubmission = (
  hashKey: HashKey,
  submission: SubmissionJob,
  rows?: Rows | PurgeRows,
): SettledSubmission => {
  const { workspaceId, submissionId, number } = submission
  const feedback = rows && 'feedback' in rows ? rows.feedback : undefined
  // The row of a feedback has its references already, and hashing them anew is not free.
  const sayings = feedback
    ? feedbackSayings({ contact: feedback.contact_ref, project: feedback.project_ref }, feedback.source)
    : sayingsOf({ hashKey, workspaceId }, submission)
  return { workspaceId, submissionId, number, sayings }
}
