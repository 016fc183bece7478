import type { RedisClient } from '../queue/redis/connect-redis.ts'
import { answerSeconds } from '../db/connection/answer-time.ts'
import type { Ledger, LogTotals } from '../contract/ledger.ts'
import { listLogs } from '../queue/log/groups.ts'
import { readLogTotals } from '../queue/log/log-totals.ts'
import type { JobQueue } from '../queue/jobs/job-queues.ts'
import type { Sql } from '../db/connection/postgres.ts'
import { type ProcessReport, createProcessReports } from '../queue/jobs/process-reports.ts'
import { countPurges, type PurgeTotals } from '../db/purges/removal.ts'
import { countWebhooks, type WebhookProblems } from '../db/webhooks.ts'
import { type QueueDepth, readQueueDepths } from '../queue/jobs/queue-depths.ts'
import { type RedisCondition, readRedisCondition } from '../queue/redis/redis-condition.ts'
import { type WorkspaceLoad, workspaceLoads } from './workspace-loads.ts'
import { createLedgers } from './ledgers.ts'
import { countSilentWorkers } from './silent-workers.ts'
import { withinTime } from '../runtime/within-time.ts'

/** The state of the installation at one moment. A member that could not be read is missing. */
export type Condition = {
  /** Milliseconds since 1970. */
  at: number
  redis?: RedisCondition
  queues?: QueueDepth[]
  processes?: ProcessReport[]
  /** Workers that are connected to Redis and do not report. */
  silent?: number
  postgresSeconds?: number
  purges?: PurgeTotals
  webhooks?: WebhookProblems
  /** The names of the workspaces, by id, as Postgres has last listed them. */
  workspaces?: ReadonlyMap<string, string>
  /** The logs that have entries. */
  logs?: LogTotals[]
  ledgers?: Ledger[]
}

export type ReadCondition = () => Promise<Condition>

/** A member that takes longer counts as not read. */
const READ_WITHIN_MS = 2_000

type ConditionSources = {
  sql: Sql
  redis: RedisClient
  prefix: string
  queues: readonly JobQueue[]
  /** How many ledgers of idle workspaces each call reads again. */
  ledgersAtOnce?: number
}

/**
 * The returned function reads each member separately, so that one missing server does not hide the
 * state of the others. The function never rejects.
 */
export const createReadCondition = ({ sql, redis, prefix, queues, ledgersAtOnce }: ConditionSources): ReadCondition => {
  const ledgers = createLedgers({ sql, redis, prefix }, ledgersAtOnce)
  return async () => {
    const at = Date.now()
    const logs = listLogs(redis, prefix).then((ids) => readLogTotals(redis, prefix, ids))
    const processes = createProcessReports(redis, prefix).read()
    const parts = await Promise.all([
      read('redis', readRedisCondition(redis)),
      read('queues', readQueueDepths(queues, redis, at)),
      read('processes', processes),
      read('silent', countSilentWorkers(redis, prefix, processes)),
      read('postgresSeconds', answerSeconds(sql)),
      read('purges', countPurges(sql)),
      read('webhooks', countWebhooks(sql)),
      read('logs', logs),
      read('ledgers', logs.then(ledgers.read)),
    ])
    const workspaces = ledgers.names()
    return Object.assign({ at, ...(workspaces && { workspaces }) }, ...parts) as Condition
  }
}

const read = async <K extends keyof Condition>(key: K, reading: Promise<Condition[K]>): Promise<Partial<Condition>> => {
  try {
    const value = await withinTime(reading, READ_WITHIN_MS)
    return value === undefined ? {} : { [key]: value }
  } catch {
    return {}
  }
}

/**
 * The loads of all workspaces with a load, the heaviest first. Undefined if the loads could not be
 * read.
 */
export const loadsIn = ({ at, workspaces, logs, processes }: Condition): WorkspaceLoad[] | undefined =>
  workspaces && logs && workspaceLoads({ workspaces, logs, processes: processes ?? [], nowMs: at })
