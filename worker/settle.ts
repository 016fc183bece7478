import { keysOf, namesIn } from '../contract/identity/names.ts'
import type { SubmissionJob } from '../contract/job.ts'
import type { HashKey } from '../contract/identity/own-id.ts'
import {
  contactsSayings,
  feedbackSayings,
  type IdentifiedKeys,
  type Sayings,
  sayingsOf,
} from '../contract/identity/sayings.ts'
import { type DeadSubmission, setAside } from '../db/submissions/dead.ts'
import type { IdempotencyRow, KeyRow, PurgeRows, Rows } from '../db/store.ts'
import type { Batch, Batched } from '../queue/batch.ts'
import type { Books } from '../queue/books.ts'
import type { Settled } from '../queue/settle.ts'
import type { Delivery, InHand, Outcome } from './delivery.ts'
import type { WorkerDependencies } from './dependencies.ts'
import { whenAvailable } from './when-available.ts'

/** What settling a submission needs. */
export type Settling = {
  books: Books
  onSettled: (submission: SubmissionJob, outcome: Outcome, attempts: number) => void
}

/** What the books are told about a batch that Postgres has settled. */
export const settledOf = (hashKey: HashKey, { batch, inHand }: Pick<Delivery, 'batch' | 'inHand'>): Settled => ({
  batch,
  sayings: inHand.map((one) => sayingsIn(hashKey, one)),
})

/** The rows of a submission have its keys already, and hashing them anew is not free. */
export const sayingsIn = (hashKey: HashKey, { submission, rows }: Pick<InHand, 'submission' | 'rows'>): Sayings => {
  if ('purge' in rows) return sayingsOf({ hashKey, workspaceId: submission.workspaceId }, submission)
  const { feedback, keys = [], messages = [] } = rows
  if (feedback) {
    return feedbackSayings({ contact: feedback.contact_ref, project: feedback.project_ref }, feedback.source)
  }
  const contacts = keys.flatMap((key) => (key.kind === 'account_external' ? [] : identifiedKeys(key)))
  const senders = messages.flatMap(({ contact_ref }) =>
    contact_ref?.preferred === undefined ? (contact_ref?.ids ?? []) : [],
  )
  return contactsSayings(contacts, new Set(senders))
}

const identifiedKeys = ({ id, kind, home_id, group_id, source, facts }: KeyRow): IdentifiedKeys => ({
  id: home_id ?? id,
  group: group_id,
  source,
  bare: kind === 'contact_bare',
  email: facts['k:email']?.[1] as string | null | undefined,
})

/** What Postgres keeps of an idempotency key: `concerns` are the keys of the contacts by whose purge it becomes free. */
export const idempotencyRow = (
  hashKey: HashKey,
  { submission, idempotency }: Batched,
  rows?: Rows | PurgeRows,
): IdempotencyRow | undefined => {
  if (idempotency === undefined) return undefined
  const contact = rows && 'feedback' in rows ? rows.feedback?.contact_ref : undefined
  const names = namesIn({ hashKey, workspaceId: submission.workspaceId }, submission, contact)
  return { ...idempotency, concerns: keysOf(names) }
}

type Death = { attempts: number; reason: string }

/** Sets a submission aside in Postgres that cannot be stored, from where it can be replayed. Harmless to repeat. */
export const setAsideDead = (
  { sql, hashKey, log, stop }: WorkerDependencies,
  batched: Batched,
  { attempts, reason }: Death,
): Promise<void> => {
  const { workspaceId, submissionId, operation } = batched.submission
  log('error', 'submission_dead', { workspaceId, submissionId, operation, attempts, fault: reason })
  const idempotency = idempotencyRow(hashKey, batched)
  const dead: DeadSubmission = { job: batched.submission, attempts, reason, ...(idempotency && { idempotency }) }
  return whenAvailable(() => setAside(sql, hashKey, dead), stop)
}

/** Settles a batch of one as dead. */
export const settleAsDead = async (
  dependencies: WorkerDependencies & Settling,
  batch: Batch,
  death: Death,
): Promise<void> => {
  const { hashKey, books } = dependencies
  for (const batched of batch.submissions) await setAsideDead(dependencies, batched, death)
  const sayings = batch.submissions.map(({ submission }) =>
    sayingsOf({ hashKey, workspaceId: submission.workspaceId }, submission),
  )
  await books.settle([{ batch, sayings }])
  for (const { submission } of batch.submissions) dependencies.onSettled(submission, 'dead', death.attempts)
}
