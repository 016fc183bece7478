import type { Column } from '../../contract/records/columns.ts'
import { TEXTS } from '../../contract/records/texts.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { RECORD_TABLES } from '../../db/reads/records.ts'

/** `ownAccount`: the account that a feedback has itself. */
type StoredRecord = { name: string; position: number; record: string; ownAccount: string | null }

/** Members of a feedback that come from other records, also the account of its contact. */
const OF_OTHERS: readonly string[] = [
  'accountId',
  ...Object.values<Column>(TEXTS.feedback.columns).flatMap(({ isOfView, read }) => (isOfView && read ? [read] : [])),
]

/**
 * A record without the members that come from other records. These are as of the read, and when they
 * change, the record does not.
 */
export const ownMembers = (kind: string, record: object): object =>
  kind === 'feedback'
    ? Object.fromEntries(Object.entries(record).filter(([name]) => !OF_OTHERS.includes(name)))
    : record

/** All records of a workspace, with their own members and change positions, in the form of the API. */
export const storedRecords = async (sql: Sql, workspaceId: string): Promise<StoredRecord[]> => {
  const ofKind = async ([kind, table]: [string, string]): Promise<StoredRecord[]> => {
    const stored = await sql<{ id: string; position: number; account_id?: string | null }[]>`
      select id, change_position::float8 as position ${kind === 'feedback' ? sql`, account_id` : sql``}
      from ${sql(table)} where workspace_id = ${workspaceId}`
    const ids = stored.map(({ id }) => id)
    const read = await sql<{ record: string }[]>`
      select record from read_records(
        ${workspaceId}::uuid, ${ids.map(() => kind)}::text[], ${ids}::uuid[], ${Number.MAX_SAFE_INTEGER}::bigint)
      order by place`
    return stored.map(({ id, position, account_id: ownAccount = null }, at) => {
      const record = ownMembers(kind, JSON.parse(read[at]!.record) as object)
      return { name: `${kind} ${id}`, position, record: JSON.stringify(record), ownAccount }
    })
  }
  return (await Promise.all(Object.entries(RECORD_TABLES).map(ofKind))).flat()
}
