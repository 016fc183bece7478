import type { Submission } from '../../contract/submission.ts'
import type { Changes } from '../../db/apply/save.ts'
import type { Link } from './unresolved.ts'

/** The contact or conversation of a submission. Its purge frees the idempotency key. */
export type Subject = Link | string | null

export type FoldedSubmission = { submission: Submission; state: 'applied' | 'superseded'; subject: Subject }

/** A replay has a receipt already, and keeps its first number. */
export const writeReceipt = (changes: Changes, w: number, { submission, state, subject }: FoldedSubmission): void => {
  const { submissionId: id, operation, number, originalNumber, idempotency } = submission
  changes.receipt.push({
    w,
    id,
    number: originalNumber ?? number,
    operation,
    state,
    ...(originalNumber !== undefined && { is_replay: true }),
    ...(idempotency && { key: idempotency.key, body_hash: idempotency.body, subject: idOf(subject) }),
  })
}

const idOf = (subject: Subject): string | undefined => {
  if (subject === null || typeof subject === 'string') return subject ?? undefined
  return subject.profile?.current().id ?? subject.awaits ?? undefined
}
