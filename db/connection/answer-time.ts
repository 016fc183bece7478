import { figureOf, type ProcessMetrics } from '../../runtime/metrics.ts'
import type { Sql } from './postgres.ts'
import { withinTime } from '../../runtime/within-time.ts'

const GIVE_UP_AFTER_MS = 5_000

/**
 * The seconds that `select 1` takes: the wait for a free connection of this pool and one round
 * trip. Undefined if the statement fails or takes longer than 5 s.
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

/** Registers the metric of the last answer time. */
export const registerAnswerTime = (metrics: ProcessMetrics, seconds: () => number | undefined): void =>
  metrics.gauge(
    {
      name: 'feedback_insights_postgres_answer_seconds',
      help: 'Wait for a free connection to Postgres and one round trip, measured at each scrape.',
    },
    () => figureOf(seconds()),
  )
