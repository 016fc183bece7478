import { withinTime } from '../../runtime/within-time.ts'
import type { Sql } from '../connection/postgres.ts'

export type Workspace = { id: string; name: string; createdAt: Date; isBeingDeleted: boolean }

/** The workspace that exists from the first start. */
export const DEFAULT_WORKSPACE = 'default'

/** Creates a workspace. Returns undefined if the name is taken. */
export const createWorkspace = async (sql: Sql, name: string): Promise<Workspace | undefined> => {
  const [row] = await sql<Workspace[]>`
    with made as (
      insert into workspace (id, name) values (gen_random_uuid(), ${name})
      on conflict (name) do nothing
      returning id, name, created_at
    ), progress as (
      insert into workspace_progress (workspace_id) select id from made
    )
    select id, name, created_at as "createdAt", false as "isBeingDeleted" from made`
  return row
}

export const listWorkspaces = (sql: Sql): Promise<Workspace[]> =>
  sql<Workspace[]>`
    select w.id, w.name, w.created_at as "createdAt", d.id is not null as "isBeingDeleted"
    from workspace as w left join deleted_workspace as d on d.id = w.id
    order by w.created_at, w.name`.execute()

/** The ids of the workspaces that are not being deleted: of all, or of a range of ids. */
export const listWorkspaceIds = async (sql: Sql, { first, last } = ALL_IDS): Promise<string[]> => {
  const rows = await sql<{ id: string }[]>`
    select id from workspace as w
    where id between ${first} and ${last} and not exists (select from deleted_workspace as d where d.id = w.id)
    order by id`
  return rows.map(({ id }) => id)
}

export type IdRange = { first: string; last: string }

/** The ids that begin with these digits. */
export const idsFrom = (digits: string): IdRange => ({ first: uuidOf(digits, '0'), last: uuidOf(digits, 'f') })

const uuidOf = (digits: string, fill: string): string =>
  digits.padEnd(32, fill).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')

export const ALL_IDS = idsFrom('')

export type ListKnownWorkspaces = () => Promise<readonly Workspace[] | undefined>

/**
 * The returned function lists the workspaces that are not being deleted. While Postgres is away, it
 * returns the last list: the logs of these workspaces still grow. Undefined without such a list.
 */
export const createKnownWorkspaces = (sql: Sql, timeoutMs: number): ListKnownWorkspaces => {
  let known: readonly Workspace[] | undefined
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
