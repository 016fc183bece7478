import type { AccountRecord, ContactRecord } from './contact-record.ts'
import type { ConversationRecord } from './conversation-record.ts'
import type { Correction, Deletion } from './correction.ts'
import type { FeedbackRecord } from './feedback-record.ts'
import type { PurgeRequest } from './purge-request.ts'
import type { NewTheme, ThemeEdit } from './theme-edit.ts'

/** The operations that are submissions. */
export const OPERATIONS = [
  'create_feedback',
  'identify_contact',
  'identify_account',
  'submit_conversation',
  'purge_contact',
  'correct_feedback',
  'delete_feedback',
  'create_theme',
  'edit_theme',
] as const
export type Operation = (typeof OPERATIONS)[number]

/** Keyed hashes: `key` of an `Idempotency-Key` with its operation, `body` of the body. */
export type Idempotency = { key: string; body: string }

/** The submission that an idempotency key belongs to, and the hash of its body. */
export type IdempotencyRecord = { body: string; submissionId: string; number: number }

/**
 * Whether an idempotency key was used in the last day. `unknown`: Redis or Postgres cannot tell,
 * since Redis has lost keys or Postgres is away.
 */
export type KeyState = { state: 'unused' } | { state: 'former'; record: IdempotencyRecord } | { state: 'unknown' }

type Bodies = {
  create_feedback: FeedbackRecord
  identify_contact: ContactRecord
  identify_account: AccountRecord
  submit_conversation: ConversationRecord
  purge_contact: PurgeRequest
  correct_feedback: Correction
  delete_feedback: Deletion
  create_theme: NewTheme
  edit_theme: ThemeEdit
}

type Accepted<O extends Operation> = {
  operation: O
  workspaceId: string
  submissionId: string
  /**
   * Acceptance number: microseconds since 1970 by Redis's clock, strictly increasing in the
   * workspace.
   */
  number: number
  body: Bodies[O]
  idempotency?: Idempotency
  /** The trace context of the request, if it is traced. */
  traceparent?: string
  /**
   * The position when the submission was admitted. Its answer may contain ids as of this position.
   */
  seenPosition?: number
  /** For a submission that was appended again, such as a replay: its first number. */
  originalNumber?: number
}

/** A submission with its checked body. */
export type Submission = { [O in Operation]: Accepted<O> }[Operation]
export type SubmissionOf<O extends Operation> = Extract<Submission, { operation: O }>

/** A submission that removes records, in steps after its place in the log. */
export type Removal = SubmissionOf<'purge_contact' | 'delete_feedback'>

export const isRemoval = (submission: Submission): submission is Removal =>
  submission.operation === 'purge_contact' || submission.operation === 'delete_feedback'

/** The number that the submission got at its acceptance. A replay is applied under a later one. */
export const numberAtAcceptance = ({ number, originalNumber }: Pick<Submission, 'number' | 'originalNumber'>): number =>
  originalNumber ?? number
