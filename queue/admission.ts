import type { QueuedFactsByKey } from '../contract/identity/queued-facts.ts'
import type { Sayings } from '../contract/identity/sayings.ts'
import type { Operation } from '../contract/job.ts'
import type { Idempotency } from './idempotency.ts'

/** `tokens` submissions; a spent token comes back `windowMs` after it was spent. */
export type RateLimit = { tokens: number; windowMs: number }

/** What is left of a limit, and when the next spent token comes back; 0 when none is spent. */
export type Bucket = { remaining: number; resetMs: number }

export type AdmissionRequest = {
  workspaceId: string
  operation: Operation
  submissionId: string
  limit?: RateLimit | undefined
  idempotency?: Idempotency | undefined
  /** Identity keys of the contacts that the submission concerns: a purge of one frees the idempotency key. */
  concerns?: readonly string[]
  /** No number at or below this is given. */
  floor?: number
  /** Nothing may enter now; the limit is judged all the same, and not used up. */
  full?: boolean
  /** Only asks whether the idempotency key was here before. */
  peek?: boolean
  /** The JSON text of the submission's job without the number, queued when the submission enters. */
  job?: string
  /** Others find these from now on, until the submission is settled. */
  sayings: Sayings
  /** Keys about which the answer tells what is queued. */
  lookUp: readonly string[]
}

/** What was queued when the number was given: about the keys looked up, and whether any purge is undecided. */
type QueuedThen = { queued: QueuedFactsByKey; purgesQueued: boolean }

/** `bucket` belongs to an operation that has a limit. Only an admitted submission has spent a token of it. */
export type Admission =
  | ({ outcome: 'admitted'; number: number; bucket: Bucket | undefined } & QueuedThen)
  | ({ outcome: 'repeated'; submissionId: string; number: number; bucket: Bucket | undefined } & QueuedThen)
  | { outcome: 'rate-limited' | 'full' | 'in-flight' | 'other-body'; bucket: Bucket | undefined }
  | { outcome: 'fresh' }

/** Rejects when Redis does not answer; then the submission may have entered all the same, and nothing may be confirmed. */
export type Admit = (request: AdmissionRequest) => Promise<Admission>
