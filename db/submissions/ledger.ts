import type { SettledTotals } from '../../contract/ledger.ts'
import type { Sql } from '../postgres.ts'

/** The totals of all workspaces that have settled submissions. */
export const readSettledTotals = (sql: Sql): Promise<SettledTotals[]> =>
  sql<SettledTotals[]>`
    select workspace_id as "workspaceId",
      coalesce(sum(submissions) filter (where state = 'applied'), 0)::float8 as applied,
      coalesce(sum(submissions) filter (where state = 'superseded'), 0)::float8 as superseded,
      coalesce(sum(submissions) filter (where state = 'purged'), 0)::float8 as purged,
      coalesce(sum(submissions) filter (where state = 'dead'), 0)::float8 as dead
    from ledger group by workspace_id`.execute()
