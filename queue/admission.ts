import type { QueuedFactsByKey } from '../contract/identity/queued-facts.ts'
import type { Sayings } from '../contract/identity/sayings.ts'
import type { Idempotency } from '../contract/idempotency.ts'
import type { Operation } from '../contract/job.ts'

/** `tokens` submissions; a spent token comes back `windowMs` after it was spent. */
export type RateLimit = { tokens: number; windowMs: number }

/** What is left of a limit, and when the next spent token comes back; 0 when none is spent. */
export type Bucket = { remaining: number; resetMs: number }

/** Others find `sayings` from the admission on, until the submission is settled. The answer tells what is queued about `lookUp`. */
export type Said = { sayings: Sayings; lookUp: readonly string[] }

export type AdmissionRequest = {
  workspaceId: string
  operation: Operation
  /** The body as JSON. */
  bodyText: string
  traceparent?: string | undefined
  limit?: RateLimit | undefined
  idempotency?: Idempotency | undefined
  /** When its workspace has more bytes waiting than these, nothing of it may enter. */
  mostBytes?: number
  /** Nothing may enter now; the limit is judged all the same, and not used up. */
  full?: boolean
  /** Only asks whether the idempotency key was here before. */
  peek?: boolean
  /** What the submission says, which can depend on its id. The id is drawn when its batch is made. */
  saidBy: (submissionId: string) => Said
}

/** What was queued when the number was given: about the keys looked up, and whether any purge is undecided. */
type QueuedThen = { queued: QueuedFactsByKey; purgesQueued: boolean }
type Entered = { submissionId: string; number: number; bucket: Bucket | undefined } & QueuedThen

/** `bucket` belongs to an operation that has a limit. Only an admitted submission has spent a token of it. */
export type Admission =
  | ({ outcome: 'admitted' | 'repeated' } & Entered)
  | { outcome: 'rate-limited' | 'full' | 'other-body'; bucket: Bucket | undefined }
  /** Entered, and too few replicas have it: a failover can lose it, so it is not confirmed. */
  | { outcome: 'unreplicated'; bucket: Bucket | undefined }
  | { outcome: 'fresh' }

/** Rejects when Redis does not answer; then the submission may have entered all the same, and nothing may be confirmed. */
export type Admit = (request: AdmissionRequest) => Promise<Admission>
