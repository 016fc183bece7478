import type { Sql } from '../connection/postgres.ts'

export type Workspace = { id: string; name: string; createdAt: Date; isBeingDeleted: boolean }

/** The workspace that exists from the first start. */
export const DEFAULT_WORKSPACE = 'default'

/** Creates a workspace. Returns undefined if the name is taken. */
export const createWorkspace = async (sql: Sql, name: string): Promise<Workspace | undefined> => {
  const [row] = await sql<Workspace[]>`
    select id, ${name}::text as name, created_at as "createdAt", false as "isBeingDeleted" from create_workspace(${name})`
  return row
}

export const listWorkspaces = (sql: Sql): Promise<Workspace[]> =>
  sql<Workspace[]>`
    select w.id, w.name, w.created_at as "createdAt", d.id is not null as "isBeingDeleted"
    from workspace as w left join deleted_workspace as d on d.id = w.id
    order by w.created_at, w.name`.execute()

/** Returns undefined if the workspace does not exist. */
export const readWorkspaceName = async (sql: Sql, id: string): Promise<string | undefined> =>
  (await sql<[{ name: string }?]>`select name from workspace where id = ${id}`)[0]?.name

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

type Portion = {
  /** Also the workspaces with these ids. */
  ids: readonly string[]
  /** The portion begins after this id. */
  after: string
  limit: number
}

/**
 * A portion of the workspaces that are not being deleted, in the order of ids, and other ones by
 * their ids. `isNext`: the workspace belongs to the portion.
 */
export const listPortion = (
  sql: Sql,
  { ids, after, limit }: Portion,
): Promise<{ id: string; name: string; isNext: boolean }[]> =>
  sql<{ id: string; name: string; isNext: boolean }[]>`
    with kept as not materialized (
      select id, name from workspace as w where not exists (select from deleted_workspace as d where d.id = w.id)
    )
    (select id, name, true as "isNext" from kept where id > ${after} order by id limit ${limit})
    union all
    select id, name, false from kept where id = any (${[...ids]}::uuid[])`.execute()
