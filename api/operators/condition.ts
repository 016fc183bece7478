import type { RedisClient } from '../../queue/connect-redis.ts'
import { answerSeconds } from '../../db/answer-time.ts'
import { type Ledger, readLedgers } from '../../contract/ledger.ts'
import { readSettledTotals } from '../../db/submissions/ledger.ts'
import { listWorkspaceIds } from '../../db/workspaces.ts'
import { bookTotalsIn } from '../../queue/book-totals.ts'
import type { JobQueue } from '../../queue/job-queues.ts'
import type { Sql } from '../../db/postgres.ts'
import { type ProcessReport, processReportsIn } from '../../queue/process-reports.ts'
import { countPurges, type PurgesUnderWay } from '../../db/purges/purges-under-way.ts'
import { type QueueDepth, readQueueDepths } from '../../queue/queue-depths.ts'
import { type RedisCondition, redisCondition } from '../../queue/redis-condition.ts'
import { withinTime } from '../../process/within-time.ts'

/** How the installation is at one moment. What could not be read is missing: its server is away. */
export type Condition = {
  /** Milliseconds since 1970. */
  at: number
  redis?: RedisCondition
  queues?: QueueDepth[]
  processes?: ProcessReport[]
  postgresSeconds?: number
  purges?: PurgesUnderWay
  ledgers?: Ledger[]
}

export type ReadCondition = () => Promise<Condition>

const READ_WITHIN_MS = 5_000

/** Reads it all anew each time, so what is away does not hide what is there. Never rejects. */
export const conditionOf =
  ({ sql, redis, prefix, queues }: { sql: Sql; redis: RedisClient; prefix: string; queues: readonly JobQueue[] }) =>
  async (): Promise<Condition> => {
    const at = Date.now()
    const read = async <K extends keyof Condition>(
      key: K,
      reading: Promise<Condition[K]>,
    ): Promise<Partial<Condition>> => {
      try {
        const value = await withinTime(reading, READ_WITHIN_MS)
        return value === undefined ? {} : { [key]: value }
      } catch {
        return {}
      }
    }
    const parts = await Promise.all([
      read('redis', redisCondition(redis)),
      read('queues', readQueueDepths(queues, redis, at)),
      read('processes', processReportsIn(redis, prefix).read()),
      read('postgresSeconds', answerSeconds(sql)),
      read('purges', countPurges(sql)),
      read(
        'ledgers',
        readLedgers({
          listWorkspaceIds: () => listWorkspaceIds(sql),
          readBooks: bookTotalsIn(redis, prefix),
          readTotals: () => readSettledTotals(sql),
        }),
      ),
    ])
    return Object.assign({ at }, ...parts) as Condition
  }
