import type { Job } from 'bullmq'
import type { Operation } from './contract/job.ts'
import { QUEUE_OF } from './contract/job.ts'
import type { JobQueues } from './job-queues.ts'
import type { Sql } from './postgres.ts'
import type { PurgeIdentifiers } from './purge.ts'

export type SubmissionState = 'queued' | 'applied' | 'superseded' | 'purged' | 'dead'

/**
 * What became of a submission. Nothing in it is personal; `counts` is what a purge removed, per table, and `identifiers` are
 * keyed hashes (`HASH_KEY`) of what it asked for.
 */
export type Receipt = {
  id: string
  operation: Operation
  state: SubmissionState
  attempts: number
  acceptedAt: string
  finishedAt: string | null
  error: string | null
  counts?: Record<string, number>
  identifiers?: PurgeIdentifiers
}

type Row = Omit<Receipt, 'acceptedAt' | 'finishedAt' | 'counts' | 'identifiers'> & {
  acceptedAt: Date
  finishedAt: Date | null
  counts: Record<string, number> | null
  identifiers: PurgeIdentifiers | null
}

/** The receipt of a submission of this workspace that is settled or was set aside. */
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

const MICROSECONDS_PER_MS = 1_000

/** The receipt of a submission of this workspace that is still queued. */
export const findQueuedReceipt = async (
  queues: JobQueues,
  workspaceId: string,
  id: string,
): Promise<Receipt | undefined> => {
  const names = [...new Set(Object.values(QUEUE_OF))]
  const jobs = await Promise.all(names.map((name) => queues[name].getJob(id) as Promise<Job | undefined>))
  const job = jobs.find((found) => found !== undefined)
  const data = job?.data as { workspaceId?: string; operation: Operation; number: number } | undefined
  if (!job || data?.workspaceId !== workspaceId) return undefined
  return {
    id,
    operation: data.operation,
    state: 'queued',
    attempts: job.attemptsMade,
    acceptedAt: new Date(Math.floor(data.number / MICROSECONDS_PER_MS)).toISOString(),
    finishedAt: null,
    error: null,
  }
}

export type SettledId = { id: string; state: SubmissionState }

/** Those of the given submissions that are settled. Ids are unique in the installation, so one query serves all who wait. */
export const findSettled = (
  sql: Sql,
  submissions: readonly { workspaceId: string; id: string }[],
): Promise<SettledId[]> =>
  sql<SettledId[]>`
    select s.id, s.state from submission as s
    join jsonb_to_recordset(${sql.json([...submissions])}) as w ("workspaceId" uuid, id uuid)
      on s.workspace_id = w."workspaceId" and s.id = w.id
    where s.state <> 'queued'`.execute()
