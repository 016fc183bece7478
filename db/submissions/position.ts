import type { SettledTotals } from '../../contract/ledger.ts'
import type { Sql } from '../connection/postgres.ts'

/** The position of a workspace; undefined for a deleted workspace. */
export const readPosition = async (sql: Sql, workspaceId: string): Promise<number | undefined> => {
  const [row] = await sql<{ position: number }[]>`
    select applied_number::float8 as position from workspace_progress where workspace_id = ${workspaceId}`
  return row?.position
}

/** The position of a workspace, and whether it had removals; undefined for a deleted workspace. */
export const readPositionAndPurges = async (
  sql: Sql,
  workspaceId: string,
): Promise<{ position: number; hadPurges: boolean } | undefined> => {
  const [row] = await sql<{ position: number; hadPurges: boolean }[]>`
    select applied_number::float8 as position, purges > 0 as "hadPurges" from workspace_progress
    where workspace_id = ${workspaceId}`
  return row
}

/** The positions of workspaces. A workspace that is being deleted has none. */
export const readPositions = async (sql: Sql, workspaceIds: readonly string[]): Promise<Map<string, number>> => {
  const rows = await sql<{ id: string; position: number }[]>`
    select workspace_id as id, applied_number::float8 as position from workspace_progress
    where workspace_id = any (${[...workspaceIds]}::uuid[])`
  return new Map(rows.map(({ id, position }) => [id, position]))
}

/** The totals of workspaces. */
export const readSettledTotals = (sql: Sql, workspaceIds: readonly string[]): Promise<SettledTotals[]> =>
  sql<SettledTotals[]>`
    select w.workspace_id as "workspaceId", w.applied::float8 as applied, w.superseded::float8 as superseded,
      w.purged::float8 as purged, w.dead::float8 as dead, p.removing::float8 as removing
    from workspace_progress as w cross join lateral (
      select count(*) as removing from purge as p where p.workspace_id = w.workspace_id
    ) as p
    where w.workspace_id = any (${[...workspaceIds]}::uuid[])`.execute()
