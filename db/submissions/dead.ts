import type { Operation, SubmissionJob } from '../../contract/job.ts'
import { keysOf, namesIn } from '../../contract/identity/names.ts'
import type { HashKey } from '../../contract/identity/own-id.ts'
import type { Sql } from '../postgres.ts'
import type { IdempotencyRow } from '../store.ts'

export type DeadSubmission = {
  job: SubmissionJob
  attempts: number
  reason: string
  idempotency?: IdempotencyRow | undefined
}

/** Sets aside a submission that cannot be stored: its receipt gives the reason, and its job is kept for a replay. Harmless to repeat. */
export const setAside = async (
  sql: Sql,
  hashKey: HashKey,
  { job, attempts, reason, idempotency }: DeadSubmission,
): Promise<void> => {
  const { workspaceId, submissionId, number, operation } = job
  const keys = keysOf(namesIn({ hashKey, workspaceId }, job))
  const dead = { id: submissionId, number, operation, attempts, reason, keys, ...(idempotency && { idempotency }) }
  await sql`select set_aside(${workspaceId}, ${sql.json(dead)}, ${JSON.stringify(job)})`
}

/** Selects dead submissions by all members that are given. `reason` is one as it is listed, `since` is the earliest time of death. */
export type DeadFilter = {
  id?: string | undefined
  workspace?: string | undefined
  reason?: string | undefined
  operation?: Operation | undefined
  since?: Date | undefined
}

/** A dead submission without its job. Since `replayedAt` it is queued again. */
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

/** Dead submissions in the order of their acceptance, at most `limit` of them. */
export const listDead = (sql: Sql, filter: DeadFilter, limit: number | null): Promise<DeadEntry[]> =>
  sql<DeadEntry[]>`
    select ${entry(sql)} from ${matching(sql, filter)}
    order by s.acceptance_number, d.id limit ${limit}`.execute()

/** One dead submission; `job` is the JSON text that was queued. */
export const findDead = async (sql: Sql, id: string): Promise<(DeadEntry & { job: string }) | undefined> => {
  const [dead] = await sql<(DeadEntry & { job: string })[]>`select ${entry(sql)}, d.job from ${matching(sql, { id })}`
  return dead
}

/** Deletes dead submissions for good and returns how many. Their receipts stay, and so do submissions that are queued again. */
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

/** The job of a dead submission as JSON text; undefined when there is no such submission. */
export const findDeadJob = async (sql: Sql, workspaceId: string, id: string): Promise<string | undefined> => {
  const [held] = await sql<{ job: string }[]>`
    select job from dead_submission where workspace_id = ${workspaceId} and id = ${id}`
  return held?.job
}

/** Why a dead submission cannot be replayed. */
export type ReplayRefusal = 'unknown' | 'being-purged' | 'undecided-purge'

/** Marks a dead submission as queued again and returns its job, which the caller has to queue; or tells why it cannot be replayed. */
export const markReplayed = async (
  sql: Sql,
  workspaceId: string,
  id: string,
): Promise<{ outcome: 'queued' | ReplayRefusal; job: string | null }> => {
  const [marked] = await sql<[{ outcome: 'queued' | ReplayRefusal; job: string | null }]>`
    select outcome, dead_job as job from replay_dead(${workspaceId}, ${id})`
  return marked
}

/** The oldest replays that began more than `afterMs` ago and are not settled, at most `limit`. */
export const listBegunReplays = (
  sql: Sql,
  { afterMs, limit }: { afterMs: number; limit: number },
): Promise<{ workspaceId: string; id: string; job: string }[]> =>
  sql<{ workspaceId: string; id: string; job: string }[]>`
    select workspace_id as "workspaceId", id, job from dead_submission
    where replayed_at <= now() - ${milliseconds(sql, afterMs)} and not is_deleted(workspace_id)
    order by replayed_at limit ${limit}`.execute()

const milliseconds = (sql: Sql, ms: number) => sql`make_interval(secs => ${ms / 1_000})`
