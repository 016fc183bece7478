import type { RedisClient } from '../queue/connect-redis.ts'
import { answerSeconds } from '../db/answer-time.ts'
import { type BookTotals, type Ledger, ledgersOf } from '../contract/ledger.ts'
import { readSettledTotals } from '../db/submissions/ledger.ts'
import type { Workspace } from '../db/workspaces.ts'
import { readBookTotals } from '../queue/book-totals.ts'
import type { JobQueue } from '../queue/job-queues.ts'
import type { Sql } from '../db/postgres.ts'
import { type ProcessReport, processReportsIn } from '../queue/process-reports.ts'
import { countPurges, type PurgesUnderWay } from '../db/purges/purges-under-way.ts'
import { type QueueDepth, readQueueDepths } from '../queue/queue-depths.ts'
import { type RedisCondition, redisCondition } from '../queue/redis-condition.ts'
import { type WorkspaceLoad, workspaceLoads } from '../queue/workspace-loads.ts'
import { countSilent } from '../queue/silent-workers.ts'
import { withinTime } from '../process/within-time.ts'
import type { ListKnownWorkspaces } from '../db/known-workspaces.ts'

/** How the installation is at one moment. A member that could not be read is missing: its server is away. */
export type Condition = {
  /** Milliseconds since 1970. */
  at: number
  redis?: RedisCondition
  queues?: QueueDepth[]
  processes?: ProcessReport[]
  /** Workers that are connected to Redis and say nothing. */
  silent?: number
  postgresSeconds?: number
  purges?: PurgesUnderWay
  workspaces?: readonly Workspace[]
  books?: BookTotals[]
  ledgers?: Ledger[]
}

export type ReadCondition = () => Promise<Condition>

const READ_WITHIN_MS = 5_000

type Sources = {
  sql: Sql
  redis: RedisClient
  prefix: string
  queues: readonly JobQueue[]
  listWorkspaces: ListKnownWorkspaces
}

/** Reads each member by itself, so that a server that is away does not hide the others. Never rejects. */
export const conditionOf =
  ({ sql, redis, prefix, queues, listWorkspaces }: Sources) =>
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
    const workspaces = listWorkspaces()
    const books = workspaces.then((known) =>
      readBookTotals(
        redis,
        prefix,
        known.map(({ id }) => id),
      ),
    )
    const processes = processReportsIn(redis, prefix).read()
    const parts = await Promise.all([
      read('redis', redisCondition(redis)),
      read('queues', readQueueDepths(queues, redis, at)),
      read('processes', processes),
      read('silent', countSilent(redis, prefix, processes)),
      read('postgresSeconds', answerSeconds(sql)),
      read('purges', countPurges(sql)),
      read('workspaces', workspaces),
      read('books', books),
      read(
        'ledgers',
        books.then(async (found) => ledgersOf(found, await readSettledTotals(sql))),
      ),
    ])
    return Object.assign({ at }, ...parts) as Condition
  }

/** What each workspace takes that takes anything, the heaviest first; undefined if that could not be read. */
export const loadsIn = ({ at, workspaces, books, processes }: Condition): WorkspaceLoad[] | undefined =>
  workspaces && books && workspaceLoads({ workspaces, books, processes: processes ?? [], nowMs: at })
