import type { IdempotencyRecord } from '../../contract/idempotency.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { findIdempotencyKeys } from '../../db/submissions/idempotency-keys.ts'
import { coalesce } from '../../runtime/coalesce.ts'
import { withinTime } from '../../runtime/within-time.ts'

type FindStoredKey = (workspaceId: string, key: string) => Promise<IdempotencyRecord | null | undefined>

/**
 * Finds idempotency keys that have left Redis; undefined while Postgres does not answer.
 * Simultaneous requests share a query.
 */
export const createFindStoredKey = (sql: Sql, timeoutMs: number): FindStoredKey => {
  const find = coalesce(
    (asked: readonly { workspaceId: string; key: string }[]) => withinTime(findIdempotencyKeys(sql, asked), timeoutMs),
    { items: 500 },
  )
  return (workspaceId, key) => find({ workspaceId, key }).catch(() => undefined)
}
