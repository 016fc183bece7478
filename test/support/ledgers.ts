import assert from 'node:assert/strict'
import { type Ledger, ledgersOf } from '../../contract/ledger.ts'
import { readSettledTotals } from '../../db/submissions/position.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { listWorkspaceIds } from '../../db/workspaces/workspaces.ts'
import type { RedisClient } from '../../queue/redis/connect-redis.ts'
import { readLogTotals } from '../../queue/log/log-totals.ts'
import type { Service } from './service.ts'

/** The ledgers of all workspaces, from Redis and Postgres. */
export const readLedgers = async (sql: Sql, redis: RedisClient, prefix: string): Promise<Ledger[]> => {
  const workspaceIds = await listWorkspaceIds(sql)
  const logs = await readLogTotals(redis, prefix, workspaceIds)
  return ledgersOf(logs, await readSettledTotals(sql, workspaceIds))
}

/** The ledger of the workspace of a service's tokens. */
export const readLedger = async ({
  sql,
  redis,
  redisPrefix,
  workspaceId,
}: Pick<Service, 'sql' | 'redis' | 'redisPrefix' | 'workspaceId'>): Promise<Ledger> => {
  const ledger = (await readLedgers(sql, redis, redisPrefix)).find((candidate) => candidate.workspaceId === workspaceId)
  assert.ok(ledger, 'the workspace has a ledger')
  return ledger
}
