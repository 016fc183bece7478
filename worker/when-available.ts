import type { Sql } from '../db/connection/postgres.ts'
import { isUnavailable } from '../runtime/fault.ts'

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 2_000

/**
 * Does work with Postgres, and repeats it until no outage of Postgres interrupts it.
 *
 * @throws any other fault, and the fault of the outage once `stop` is aborted
 */
export const whenAvailable = async <T>(work: () => Promise<T>, stop: AbortSignal): Promise<T> => {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return await work()
    } catch (error) {
      if (!isUnavailable(error) || stop.aborted) throw error
      await new Promise((resolve) => setTimeout(resolve, pauseMs * (0.5 + Math.random() / 2)))
    }
  }
}

/** Resolves when Postgres answers. Throws as `whenAvailable`. */
export const untilAvailable = (sql: Sql, stop: AbortSignal): Promise<unknown> =>
  whenAvailable(() => sql`select 1`, stop)
