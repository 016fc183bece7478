import type { PurgeIdentifiers, Receipt, SubmissionState } from '../../contract/receipt.ts'
import type { Sql } from '../postgres.ts'

type Row = Omit<Receipt, 'acceptedAt' | 'finishedAt' | 'counts' | 'identifiers'> & {
  acceptedAt: Date
  finishedAt: Date | null
  counts: Record<string, number> | null
  identifiers: PurgeIdentifiers | null
}

/** The receipt of a submission of this workspace; undefined until the submission is settled or set aside. */
export const findReceipt = async (sql: Sql, workspaceId: string, id: string): Promise<Receipt | undefined> => {
  const [row] = await sql<Row[]>`
    select id, operation, state, attempts, accepted_at as "acceptedAt", finished_at as "finishedAt", error, counts,
      identifiers
    from submission where workspace_id = ${workspaceId} and id = ${id}`
  if (!row) return undefined
  const { counts, identifiers, ...rest } = row
  return {
    ...rest,
    acceptedAt: row.acceptedAt.toISOString(),
    finishedAt: row.finishedAt?.toISOString() ?? null,
    ...(counts !== null && { counts }),
    ...(identifiers !== null && { identifiers }),
  }
}

/** The state of a submission in its receipt; undefined while it has none. */
export const findState = async (sql: Sql, workspaceId: string, id: string): Promise<SubmissionState | undefined> => {
  const [row] = await sql<{ state: SubmissionState }[]>`
    select state from submission where workspace_id = ${workspaceId} and id = ${id}`
  return row?.state
}

export type SettledId = { id: string; state: SubmissionState }

/** Returns those of the given submissions that are settled. Ids are unique in the installation, so one query serves all who wait. */
export const findSettled = (
  sql: Sql,
  submissions: readonly { workspaceId: string; id: string }[],
): Promise<SettledId[]> =>
  sql<SettledId[]>`
    select s.id, s.state from submission as s
    join jsonb_to_recordset(${sql.json([...submissions])}) as w ("workspaceId" uuid, id uuid)
      on s.workspace_id = w."workspaceId" and s.id = w.id
    where s.state <> 'queued'`.execute()
