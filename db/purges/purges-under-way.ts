import type { RemovalJob } from '../../contract/jobs.ts'
import type { Sql } from '../connection/postgres.ts'

/**
 * `underWay`: purges whose records are being removed. `purgedKeys`: keys with at least one purge.
 */
export type PurgesUnderWay = { underWay: number; purgedKeys: number }

export const countPurges = async (sql: Sql): Promise<PurgesUnderWay> => {
  const [row] = await sql<PurgesUnderWay[]>`
    select (select count(*) from purge)::float8 as "underWay", (select count(*) from purged_key)::float8 as "purgedKeys"`
  return row!
}

/** The purges under way that were accepted more than `olderThanMs` ago. */
export const listPurgesUnderWay = (sql: Sql, { olderThanMs }: { olderThanMs: number }): Promise<RemovalJob[]> =>
  sql<RemovalJob[]>`
    select p.workspace_id as "workspaceId", p.id as "purgeId" from purge as p
    where p.number <= (extract(epoch from now()) * 1000000 - ${olderThanMs}::float8 * 1000)::bigint and not is_deleted(p.workspace_id)
    order by p.number`.execute()

/** The given purges that are under way. */
export const purgesUnderWayAmong = async (sql: Sql, workspaceId: string, ids: readonly string[]): Promise<string[]> => {
  const rows = await sql<{ id: string }[]>`
    select id from purge where workspace_id = ${workspaceId} and id = any (${[...ids]}::uuid[])`
  return rows.map(({ id }) => id)
}
