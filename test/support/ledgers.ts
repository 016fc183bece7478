import { type Ledger, readLedgers as readLedgersFrom } from '../../contract/ledger.ts'
import { readSettledTotals } from '../../db/submissions/ledger.ts'
import type { Sql } from '../../db/postgres.ts'
import { listWorkspaceIds } from '../../db/workspaces.ts'
import { bookTotalsIn } from '../../queue/book-totals.ts'
import type { RedisClient } from '../../queue/connect-redis.ts'

/** The ledgers of all workspaces, from both stores. */
export const readLedgers = (sql: Sql, redis: RedisClient, prefix: string): Promise<Ledger[]> =>
  readLedgersFrom({
    listWorkspaceIds: () => listWorkspaceIds(sql),
    readBooks: bookTotalsIn(redis, prefix),
    readTotals: () => readSettledTotals(sql),
  })
