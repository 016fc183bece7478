import { withinTime } from '../runtime/within-time.ts'

/**
 * Longer than the time-out of a statement, so that Postgres cancels a slow statement first. Behind a
 * pooler in mode `transaction`, the time-out of the role counts, and a statement can outlast the
 * answer.
 */
const QUERY_WITHIN_MS = 6_000

/** For queries without which there is no answer. Rejects if they take longer. */
export const withinQueryTime = <T>(query: Promise<T>): Promise<T> => withinTime(query, QUERY_WITHIN_MS)
