import type { Sql } from '../connection/postgres.ts'
import { RECORD_TABLES, readRecords, type RecordKind } from './records.ts'

const RECORDS_AT_ONCE = 500
const LEAST_ID = '00000000-0000-0000-0000-000000000000'

/** `records`: JSON texts. `after`: the last id of the page; undefined at the end. */
export type RecordsPage = { records: string[]; after: string | undefined }

/**
 * The next records of a kind behind an id, in the order of ids. Ids never change, so each record
 * that exists during all pages comes once, even if others change.
 */
export const readAllRecords = async (
  sql: Sql,
  { workspaceId, kind, after = LEAST_ID }: { workspaceId: string; kind: RecordKind; after?: string | undefined },
): Promise<RecordsPage> => {
  const rows = await sql<{ id: string }[]>`
    select id from ${sql(RECORD_TABLES[kind])} where workspace_id = ${workspaceId} and id > ${after}
    order by id limit ${RECORDS_AT_ONCE}`
  const names = rows.map(({ id }) => ({ kind, id }))
  const read = await readRecords(sql, workspaceId, names)
  return { records: read.filter((record) => record !== undefined), after: names[read.length - 1]?.id }
}
