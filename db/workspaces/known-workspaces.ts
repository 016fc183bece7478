import type { Sql } from '../connection/postgres.ts'
import { listWorkspaces, type Workspace } from './workspaces.ts'
import { withinTime } from '../../runtime/within-time.ts'

export type ListKnownWorkspaces = () => Promise<readonly Workspace[]>

/**
 * Lists the workspaces. While Postgres is away it lists the last known ones, since their queued
 * submissions grow and have to be counted.
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
