import type { SettledTotals } from '../../contract/ledger.ts'
import type { Sql } from '../connection/postgres.ts'

/** The totals of all workspaces. */
export const readSettledTotals = (sql: Sql): Promise<SettledTotals[]> =>
  sql<SettledTotals[]>`
    select w.workspace_id as "workspaceId", w.applied::float8 as applied, w.superseded::float8 as superseded,
      w.purged::float8 as purged, w.dead::float8 as dead, p.removing::float8 as removing
    from workspace_progress as w cross join lateral (
      select count(*) as removing from purge as p where p.workspace_id = w.workspace_id
    ) as p`.execute()
