import { withinTime } from '../../runtime/within-time.ts'
import { NEEDED_WITHIN_MS } from '../create-intake.ts'

/** Rejects if the database does not answer in time. */
export const withinReadTime = <T>(reading: Promise<T>): Promise<T> => withinTime(reading, NEEDED_WITHIN_MS)
