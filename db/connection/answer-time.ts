import { figureOf, type ProcessMetrics } from '../../runtime/metrics.ts'
import type { Sql } from './postgres.ts'
import { withinTime } from '../../runtime/within-time.ts'

const GIVE_UP_AFTER_MS = 5_000

/**
 * Seconds until Postgres answered `select 1`: the wait for a free connection of this pool and one
 * round trip. The driver does not tell how many statements wait. Undefined when there was no answer
 * within 5 s.
 */
export const answerSeconds = async (sql: Sql): Promise<number | undefined> => {
  const asked = performance.now()
  try {
    await withinTime(sql`select 1`.execute(), GIVE_UP_AFTER_MS)
    return (performance.now() - asked) / 1_000
  } catch {
    return undefined
  }
}

/** Tells how long Postgres took to answer when it was asked last. */
export const registerAnswerTime = (metrics: ProcessMetrics, seconds: () => number | undefined): void =>
  metrics.gauge(
    {
      name: 'feedback_insights_postgres_answer_seconds',
      help: 'Wait for a free connection to Postgres and one round trip, as measured for this answer.',
    },
    () => figureOf(seconds()),
  )
