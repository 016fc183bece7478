import type { RecordKind } from '../../contract/record-schemas.ts'
import type { Sql } from '../connection/postgres.ts'

/** The tables of the readable kinds. */
export const RECORD_TABLES = {
  feedback: 'feedback',
  customer: 'contact',
  account: 'account',
  project: 'project',
  theme: 'theme',
  alert: 'alert',
  digest: 'digest',
  feedback_category: 'feedback_category',
  conversation: 'conversation',
  message: 'message',
} as const satisfies Record<RecordKind, string>

/** The most bytes of the records of an answer. Only a first record alone may exceed them. */
export const MOST_BYTES = 4 * 1024 * 1024

/** The kinds of records that can be searched and counted. */
export type CountedKind = 'feedback' | 'conversation'

/** A place in a list, after this record. `at`: UTC, with microseconds. */
export type ListPlace = { at: string; id: string }

export type NamedRecord = { kind: RecordKind; id: string }

/**
 * The records as JSON text, in the order of `names`; undefined for a record that does not exist.
 * The list can end early, since an answer is bounded, but has at least the first record.
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
    select record from read_records(${workspaceId}::uuid, ${kinds}::text[], ${ids}::uuid[], ${MOST_BYTES}::bigint)
    order by place`
  return rows.map(({ record }) => record ?? undefined)
}

/** The id that the own id of a record means now: after a merge, that of the absorber. */
export const currentId = async (sql: Sql, workspaceId: string, { kind, id }: NamedRecord): Promise<string> => {
  if (kind !== 'customer' && kind !== 'account') return id
  const [row] = await sql<[{ id: string }]>`select current_id(${workspaceId}::uuid, ${kind}::text, ${id}::uuid) as id`
  return row.id
}

const RECORDS_AT_ONCE = 500
export const LEAST_ID = '00000000-0000-0000-0000-000000000000'

/** `records`: JSON texts. `after`: the last id of the page; undefined at the end. */
type RecordsPage = { records: string[]; after: string | undefined }

/**
 * The next records of a kind after an id, in the order of ids. Ids never change, so each record
 * that exists during all pages comes exactly once.
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
