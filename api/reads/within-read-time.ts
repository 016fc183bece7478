import { withinTime } from '../../runtime/within-time.ts'

/**
 * Longer than the time-out of a statement, so that Postgres cancels a slow statement first. Behind
 * a pooler in mode `transaction`, the time-out of the role counts, and a statement can outlast the
 * answer.
 */
const READ_TIMEOUT_MS = 6_000

/** Rejects if the database does not answer in time. */
export const withinReadTime = <T>(reading: Promise<T>): Promise<T> => withinTime(reading, READ_TIMEOUT_MS)
