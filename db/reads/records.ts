import type { Sql } from '../connection/postgres.ts'

/** What can be read, as the change feed names it, and the table that has it. */
export const RECORD_TABLES = {
  feedback: 'feedback',
  customer: 'contact',
  account: 'account',
  project: 'project',
  feedback_category: 'feedback_category',
  conversation: 'conversation',
  message: 'message',
} as const
export type RecordKind = keyof typeof RECORD_TABLES

/** An answer ends before a record that would bring it beyond so many characters. */
export const MOST_CHARACTERS = 4 * 1024 * 1024

export type NamedRecord = { kind: RecordKind; id: string }

/**
 * The records as JSON text, in the order of their names; undefined where there is none. It can end
 * early, since an answer is bounded: at least the first one is there.
 */
export const readRecords = async (
  sql: Sql,
  workspaceId: string,
  names: readonly NamedRecord[],
): Promise<(string | undefined)[]> => {
  if (names.length === 0) return []
  const kinds = names.map(({ kind }) => kind)
  const ids = names.map(({ id }) => id)
  const rows = await sql<{ record: string | null }[]>`
    select record from read_records(${workspaceId}::uuid, ${kinds}::text[], ${ids}::uuid[], ${MOST_CHARACTERS})
    order by place`
  return rows.map(({ record }) => record ?? undefined)
}

/** What the own id of a customer or account means now that others may have absorbed it. */
export const currentId = async (sql: Sql, workspaceId: string, { kind, id }: NamedRecord): Promise<string> => {
  if (kind !== 'customer' && kind !== 'account') return id
  const [row] = await sql<[{ id: string }]>`select current_id(${workspaceId}::uuid, ${kind}, ${id}::uuid) as id`
  return row.id
}
