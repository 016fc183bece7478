import type { PurgeConsumers, PurgeIdentifiers, Receipt } from '../../contract/receipt.ts'
import type { Sql } from '../connection/postgres.ts'

type Row = Omit<Receipt, 'acceptedAt' | 'finishedAt' | 'counts' | 'identifiers' | 'consumers'> & {
  acceptedAt: Date
  finishedAt: Date | null
  counts: Record<string, number> | null
  identifiers: PurgeIdentifiers | null
  consumers: PurgeConsumers | null
}

/**
 * The receipt of a submission in this workspace; undefined until the submission is applied or set
 * aside.
 */
export const findReceipt = async (sql: Sql, workspaceId: string, id: string): Promise<Receipt | undefined> => {
  const [row] = await sql<Row[]>`
    select id, operation, state, attempts, accepted_at as "acceptedAt", finished_at as "finishedAt", error, counts,
      identifiers,
      case when s.change_position is not null then (
        select json_build_object('total', count(*), 'confirmed', count(*) filter (where h.position >= s.change_position))
        from webhook as h where h.workspace_id = s.workspace_id
      ) end as consumers
    from submission as s where workspace_id = ${workspaceId} and id = ${id}`
  if (!row) return undefined
  const { counts, identifiers, consumers, ...rest } = row
  return {
    ...rest,
    acceptedAt: row.acceptedAt.toISOString(),
    finishedAt: row.finishedAt?.toISOString() ?? null,
    ...(counts !== null && { counts }),
    ...(identifiers !== null && { identifiers }),
    ...(consumers !== null && { consumers }),
  }
}

/** The given submissions that have no receipt. */
export const findMissingReceipts = async (sql: Sql, workspaceId: string, ids: readonly string[]): Promise<string[]> => {
  const rows = await sql<{ id: string }[]>`
    select id from submission where workspace_id = ${workspaceId} and id = any (${[...ids]}::uuid[])`
  const found = new Set(rows.map(({ id }) => id))
  return ids.filter((id) => !found.has(id))
}
