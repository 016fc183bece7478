import type { Operation } from './submission.ts'

export type SubmissionState = 'queued' | 'applied' | 'superseded' | 'purged' | 'dead'

/**
 * Keyed hashes (`HASH_KEY`) of the identifiers that a purge asked for; null for one that it did not
 * give.
 */
export type PurgeIdentifiers = { id: string | null; email: string | null }

/** Webhooks of the workspace, and how many have confirmed all that a purge removed. */
export type PurgeConsumers = { total: number; confirmed: number }

/**
 * What became of a submission. It holds no personal data. Times are RFC 3339 in UTC. Only the
 * receipt of a purge has `identifiers`, `consumers` and `counts`, the rows that it removed per
 * table.
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
