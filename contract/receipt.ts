import type { Operation } from './submission.ts'

export type SubmissionState = 'queued' | 'applied' | 'superseded' | 'purged' | 'dead'

/** Keyed hashes (`HASH_KEY`) of the identifiers in a purge request; null for an absent one. */
export type PurgeIdentifiers = { id: string | null; email: string | null }

/** Webhooks of the workspace, and how many have confirmed the whole purge. */
export type PurgeConsumers = { total: number; confirmed: number }

/**
 * The state of a submission, without personal data. Times are RFC 3339 in UTC. Only the receipt of
 * a purge has `identifiers`, `consumers` and `counts`, the removed rows by table.
 */
export type Receipt = {
  id: string
  operation: Operation
  state: SubmissionState
  attempts: number
  acceptedAt: string
  finishedAt: string | null
  error: string | null
  counts?: Record<string, number>
  identifiers?: PurgeIdentifiers
  consumers?: PurgeConsumers
}
