import { readLedgers } from '../../contract/ledger.ts'
import { readSettledTotals } from '../../db/submissions/ledger.ts'
import { listWorkspaceIds } from '../../db/workspaces.ts'
import { bookTotalsIn } from '../../queue/book-totals.ts'
import type { RedisClient } from '../../queue/connect-redis.ts'
import type { Sql } from '../../db/postgres.ts'
import { type Finding, warning, well, wrong } from './finding.ts'

const MICROSECONDS_PER_SECOND = 1_000_000
const MS_PER_SECOND = 1_000
/** Submissions wait longer only when more than a burst came in. */
const SLOW_SECONDS = 60
const STUCK_SECONDS = 600

/** How many submissions are accepted and not settled, for how long, and whether any are missing. */
export const checkLedger = async (sql: Sql, redis: RedisClient, prefix: string): Promise<Finding[]> => {
  const ledgers = await readLedgers({
    listWorkspaceIds: () => listWorkspaceIds(sql),
    readBooks: bookTotalsIn(redis, prefix),
    readTotals: () => readSettledTotals(sql),
  })
  const queued = ledgers.reduce((sum, ledger) => sum + ledger.queued, 0)
  const oldest = Math.min(...ledgers.flatMap(({ oldestNumber }) => oldestNumber ?? []))
  const seconds = Number.isFinite(oldest)
    ? Math.max(0, Date.now() / MS_PER_SECOND - oldest / MICROSECONDS_PER_SECOND)
    : 0
  const text = `${queued} submissions are accepted and not stored${queued === 0 ? '' : `, the oldest for ${Math.round(seconds)} s`}.`
  const remedy = 'See that workers run, and what they log; more workers share the work.'
  const missing = ledgers.filter(({ difference }) => difference !== 0)
  return [
    seconds >= STUCK_SECONDS ? wrong(text, remedy) : seconds >= SLOW_SECONDS ? warning(text, remedy) : well(text),
    ...(queued === 0 && missing.length > 0
      ? [
          warning(
            `In ${missing.length} workspaces accepted submissions and those that are settled differ, while nothing is queued.`,
            'Run this again: submissions that are just finishing count. If it stays, Redis or Postgres lost data.',
          ),
        ]
      : []),
  ]
}
