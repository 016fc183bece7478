import type { Sql } from './postgres.ts'

export type Workspace = { id: string; name: string; createdAt: Date }

/** The workspace that exists from the first start. */
export const DEFAULT_WORKSPACE = 'default'

/** Makes a workspace; undefined when the name is taken. */
export const createWorkspace = async (sql: Sql, name: string): Promise<Workspace | undefined> => {
  const [row] = await sql<Workspace[]>`
    insert into workspace (id, name) values (gen_random_uuid(), ${name})
    on conflict (name) do nothing
    returning id, name, created_at as "createdAt"`
  return row
}

export const listWorkspaces = (sql: Sql): Promise<Workspace[]> =>
  sql<Workspace[]>`select id, name, created_at as "createdAt" from workspace order by created_at, name`.execute()

export const listWorkspaceIds = async (sql: Sql): Promise<string[]> => {
  const rows = await sql<{ id: string }[]>`select id from workspace order by id`
  return rows.map(({ id }) => id)
}

/** Tables whose rows belong to a workspace, in an order in which they can be emptied. */
const OWNED_TABLES = [
  // These come before the records, so that the triggers of the records find nothing to count off.
  'tag_term',
  'tag_in_use',
  'tag_memory',
  'tag_share',
  'feedback',
  'superseded_reference',
  'unresolved_reference',
  'conversation_contact',
  'conversation',
  'message',
  'feedback_category',
  'contact_external_id',
  'account_external_id',
  'contact',
  'account',
  'project',
  'identity_claim',
  'identity_key',
  'submission',
  'ledger',
  'dead_submission',
  'idempotency_key',
  'fence',
  'fence_claim',
  'purge',
] as const

const ROWS_PER_STEP = 5_000

/**
 * Deletes a workspace with its tokens and everything in it, in steps that can be repeated. Its tokens go first, so that nothing
 * new comes in. Returns how many rows it deleted, or undefined when there is no workspace of that name.
 */
export const deleteWorkspace = async (sql: Sql, name: string): Promise<number | undefined> => {
  const [workspace] = await sql<{ id: string }[]>`select id from workspace where name = ${name}`
  if (!workspace) return undefined
  await sql`delete from token where workspace_id = ${workspace.id}`
  let deleted = 0
  for (const table of OWNED_TABLES) {
    let step: number
    do {
      step = (
        await sql`
          delete from ${sql(table)} where ctid = any (array(
            select ctid from ${sql(table)} where workspace_id = ${workspace.id} limit ${ROWS_PER_STEP}))`
      ).count
      deleted += step
    } while (step === ROWS_PER_STEP)
  }
  await sql`delete from workspace where id = ${workspace.id}`
  return deleted
}
