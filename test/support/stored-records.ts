import type { Sql } from '../../db/connection/postgres.ts'
import { RECORD_TABLES } from '../../db/reads/records.ts'

type StoredRecord = { name: string; position: number; record: string }

/** All records of a workspace, with their change positions, in the form of the API. */
export const storedRecords = async (sql: Sql, workspaceId: string): Promise<StoredRecord[]> => {
  const ofKind = async ([kind, table]: [string, string]): Promise<StoredRecord[]> => {
    const stored = await sql<{ id: string; position: number }[]>`
      select id, change_position::float8 as position from ${sql(table)} where workspace_id = ${workspaceId}`
    const ids = stored.map(({ id }) => id)
    const read = await sql<{ record: string }[]>`
      select record from read_records(
        ${workspaceId}::uuid, ${ids.map(() => kind)}::text[], ${ids}::uuid[], ${Number.MAX_SAFE_INTEGER}::bigint)
      order by place`
    return stored.map(({ id, position }, at) => ({ name: `${kind} ${id}`, position, record: read[at]!.record }))
  }
  return (await Promise.all(Object.entries(RECORD_TABLES).map(ofKind))).flat()
}
