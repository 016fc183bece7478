import type { Operation, SubmissionJob } from './contract/job.ts'
import type { HashKey } from './contract/own-id.ts'
import { concernedKeys } from './contract/pending.ts'
import type { Sql } from './postgres.ts'

export type DeadSubmission = { job: SubmissionJob; attempts: number; reason: string }

/** Sets a submission aside that cannot be stored: its receipt says why, its job stays to be replayed. Harmless to repeat. */
export const setAside = async (
  sql: Sql,
  hashKey: HashKey,
  { job, attempts, reason }: DeadSubmission,
): Promise<void> => {
  const { workspaceId, submissionId, number, operation } = job
  const keys = concernedKeys({ hashKey, workspaceId }, job)
  const dead = { id: submissionId, number, operation, attempts, reason, keys }
  await sql`select set_aside(${workspaceId}, ${sql.json(dead)}, ${JSON.stringify(job)})`
}

/** Which dead submissions are meant; what is absent limits nothing. `reason` as it is listed, `since` by when they died. */
export type DeadFilter = {
  id?: string | undefined
  workspace?: string | undefined
  reason?: string | undefined
  operation?: Operation | undefined
  since?: Date | undefined
}

/** A dead submission without what was submitted. `replayedAt`: it is queued again since then. */
export type DeadEntry = {
  id: string
  workspaceId: string
  workspace: string
  operation: Operation
  acceptedAt: Date
  attempts: number
  reason: string
  diedAt: Date
  replayedAt: Date | null
}

/** How many dead submissions there are for each reason, the most frequent first. */
export const countDead = (sql: Sql, filter: DeadFilter): Promise<{ reason: string; submissions: number }[]> =>
  sql<{ reason: string; submissions: number }[]>`
    select d.reason, count(*)::int as submissions from ${matching(sql, filter)}
    group by d.reason order by submissions desc, d.reason`.execute()

/** In the order of their acceptance, at most `limit` of them. */
export const listDead = (sql: Sql, filter: DeadFilter, limit: number | null): Promise<DeadEntry[]> =>
  sql<DeadEntry[]>`
    select ${entry(sql)} from ${matching(sql, filter)}
    order by s.acceptance_number, d.id limit ${limit}`.execute()

/** `job` as it was queued, as JSON text. */
export const findDead = async (sql: Sql, id: string): Promise<(DeadEntry & { job: string }) | undefined> => {
  const [dead] = await sql<(DeadEntry & { job: string })[]>`select ${entry(sql)}, d.job from ${matching(sql, { id })}`
  return dead
}

/** Deletes for good what was submitted; receipts stay. Those that are queued again are left alone. Returns how many went. */
export const dropDead = async (sql: Sql, filter: DeadFilter): Promise<number> =>
  (
    await sql`
      delete from dead_submission where (workspace_id, id) in (
        select d.workspace_id, d.id from ${matching(sql, filter)} and s.state = 'dead'
      )`
  ).count

const entry = (sql: Sql) => sql`
  d.id, d.workspace_id as "workspaceId", w.name as workspace, s.operation, s.accepted_at as "acceptedAt", s.attempts, d.reason,
  d.died_at as "diedAt", d.replayed_at as "replayedAt"`

const matching = (sql: Sql, { id, workspace, reason, operation, since }: DeadFilter) => sql`
  dead_submission as d
  join submission as s on s.workspace_id = d.workspace_id and s.id = d.id
  join workspace as w on w.id = d.workspace_id
  where true ${id === undefined ? sql`` : sql`and d.id = ${id}`}
    ${workspace === undefined ? sql`` : sql`and w.name = ${workspace}`}
    ${reason === undefined ? sql`` : sql`and d.reason = ${reason}`}
    ${operation === undefined ? sql`` : sql`and s.operation = ${operation}`}
    ${since === undefined ? sql`` : sql`and d.died_at >= ${since}`}`
