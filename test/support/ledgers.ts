import { type Ledger, ledgersOf } from '../../contract/ledger.ts'
import { readSettledTotals } from '../../db/submissions/ledger.ts'
import type { Sql } from '../../db/postgres.ts'
import { listWorkspaceIds } from '../../db/workspaces.ts'
import { readBookTotals } from '../../queue/book-totals.ts'
import type { RedisClient } from '../../queue/connect-redis.ts'

/** The ledgers of all workspaces, from both stores. */
export const readLedgers = async (sql: Sql, redis: RedisClient, prefix: string): Promise<Ledger[]> => {
  const books = await readBookTotals(redis, prefix, await listWorkspaceIds(sql))
  return ledgersOf(books, await readSettledTotals(sql))
}
