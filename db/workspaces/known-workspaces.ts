import type { Sql } from '../connection/postgres.ts'
import { listWorkspaces, type Workspace } from './workspaces.ts'
import { withinTime } from '../../runtime/within-time.ts'

export type ListKnownWorkspaces = () => Promise<readonly Workspace[]>

/**
 * Lists the workspaces, or while Postgres is away, those known last: what is queued grows then, and
 * has to be counted.
 */
export const createKnownWorkspaces = (sql: Sql, timeoutMs: number): ListKnownWorkspaces => {
  let known: readonly Workspace[] = []
  return async () => {
    try {
      const all = await withinTime(listWorkspaces(sql), timeoutMs)
      known = all.filter(({ isBeingDeleted }) => !isBeingDeleted)
    } catch {
      // Postgres is away.
    }
    return known
  }
}
