import type { Operation } from './job.ts'

export type SubmissionState = 'queued' | 'applied' | 'superseded' | 'purged' | 'dead'

/** Keyed hashes (`HASH_KEY`) of what a purge asked for, null where it did not. */
export type PurgeIdentifiers = { id: string | null; email: string | null }

/**
 * What became of a submission. Nothing in it is personal; `counts` is what a purge removed, per table, and `identifiers` are
 * keyed hashes (`HASH_KEY`) of what it asked for. Times are RFC 3339 in UTC.
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
}
