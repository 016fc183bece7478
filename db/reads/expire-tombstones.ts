import type { Sql } from '../connection/postgres.ts'

const ROWS_PER_STEP = 5_000
const MICROSECONDS_PER_DAY = 86_400_000_000
const MICROSECONDS_PER_MS = 1_000

/**
 * Deletes tombstones that are more than `days` old, in steps, and returns how many. Positions are
 * times, so the oldest ones come first.
 */
export const expireTombstones = async (sql: Sql, days: number): Promise<number> => {
  const before = Date.now() * MICROSECONDS_PER_MS - days * MICROSECONDS_PER_DAY
  const workspaces = await sql<{ id: string }[]>`
    select w.workspace_id as id from workspace_progress as w
    where exists (select from tombstone as t where t.workspace_id = w.workspace_id and t.position < ${before}::bigint)`
  let deleted = 0
  for (const { id } of workspaces) deleted += await expireIn(sql, id, before)
  return deleted
}

const expireIn = async (sql: Sql, workspaceId: string, before: number): Promise<number> => {
  let deleted = 0
  for (;;) {
    const [step] = await sql<[{ rows: number }]>`
      select expire_tombstones(${workspaceId}::uuid, ${before}::bigint, ${ROWS_PER_STEP}) as rows`
    deleted += step.rows
    if (step.rows < ROWS_PER_STEP) return deleted
  }
}
