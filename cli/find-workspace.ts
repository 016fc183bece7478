import type { Sql } from '../db/connection/postgres.ts'
import { listWorkspaces, type Workspace } from '../db/workspaces/workspaces.ts'
import { CommandError } from './run-command.ts'

export const NO_SUCH_WORKSPACE = 'There is no workspace with this name. See: npm run workspace -- list'

/** @throws CommandError when there is no workspace of this name */
export const findWorkspace = async (sql: Sql, name: string): Promise<Workspace> => {
  const workspace = (await listWorkspaces(sql)).find((one) => one.name === name)
  if (workspace === undefined) throw new CommandError(NO_SUCH_WORKSPACE)
  return workspace
}
