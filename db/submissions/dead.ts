import { namedKeys } from '../../contract/identity/purge-keys.ts'
import type { HashKey } from '../../contract/identity/keys.ts'
import type { Operation, Submission } from '../../contract/submission.ts'
import type { Sql } from '../connection/postgres.ts'

/**
 * `mayPass`: the fault may pass, so maintenance replays the submission. `expected`: the position of
 * the workspace just before the submission.
 */
type DeadSubmission = {
  submission: Submission
  attempts: number
  reason: string
  mayPass?: boolean
  expected: number
}

/**
 * Sets aside a submission that workers have given up, and moves the position. Its receipt gives the
 * reason, and the submission is kept for a replay. If the position has changed or the workspace is
 * deleted, this does nothing and returns false.
 */
export const setAside = async (
  sql: Sql,
  hashKey: HashKey,
  { submission, attempts, reason, mayPass = false, expected }: DeadSubmission,
): Promise<boolean> => {
  const { workspaceId, submissionId, number, originalNumber, operation, idempotency } = submission
  const dead = {
    id: submissionId,
    number,
    originalNumber: originalNumber ?? null,
    operation,
    attempts,
    reason,
    mayPass,
    keys: namedKeys({ hashKey, workspaceId }, submission),
    idempotencyKey: idempotency?.key ?? null,
    bodyHash: idempotency?.body ?? null,
  }
  const [row] = await sql<[{ moved: boolean }]>`
    select set_aside(
      ${workspaceId}::uuid, ${expected}::bigint, ${sql.json(dead)}::jsonb, ${JSON.stringify(submission)}::text
    ) as moved`
  return row.moved
}

/**
 * Selects dead submissions by all given members. `reason`: as in `DeadEntry`. `since`: the earliest
 * time of death.
 */
export type DeadFilter = {
  id?: string | undefined
  workspace?: string | undefined
  reason?: string | undefined
  operation?: Operation | undefined
  since?: Date | undefined
}

/** A dead submission without its content. `replayedAt`: since when it is queued again, if it is. */
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

/** The number of dead submissions for each reason, the most frequent first. */
export const countDead = (sql: Sql, filter: DeadFilter): Promise<{ reason: string; submissions: number }[]> =>
  sql<{ reason: string; submissions: number }[]>`
    select d.reason, count(*)::int as submissions from ${matching(sql, filter)}
    group by d.reason order by submissions desc, d.reason`.execute()

/** Dead submissions in the order of their acceptance, at most `limit` of them. */
export const listDead = (sql: Sql, filter: DeadFilter, limit: number | null): Promise<DeadEntry[]> =>
  sql<DeadEntry[]>`
    select ${entry(sql)} from ${matching(sql, filter)}
    order by s.acceptance_number, d.id limit ${limit}`.execute()

/** One dead submission; `submission` is its JSON text. */
export const findDead = async (sql: Sql, id: string): Promise<(DeadEntry & { submission: string }) | undefined> => {
  const [dead] = await sql<(DeadEntry & { submission: string })[]>`
    select ${entry(sql)}, d.submission from ${matching(sql, { id })}`
  return dead
}

/**
 * Deletes dead submissions for good and returns how many. Their receipts stay. Submissions that are
 * queued again stay as well.
 */
export const dropDead = async (sql: Sql, filter: DeadFilter): Promise<number> =>
  (
    await sql`
      delete from dead_submission where replayed_at is null and (workspace_id, id) in (
        select d.workspace_id, d.id from ${matching(sql, filter)}
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

/** Why a dead submission cannot be replayed. */
export type ReplayRefusal = 'unknown' | 'being-purged' | 'undecided-purge'

/**
 * Marks a dead submission as queued and returns it; the caller then appends it to the log.
 * `submission` is null if the outcome is a refusal, or if the submission was queued already.
 */
export const markReplayed = async (
  sql: Sql,
  workspaceId: string,
  id: string,
): Promise<{ outcome: 'queued' | ReplayRefusal; submission: Submission | null }> => {
  const [marked] = await sql<[{ outcome: 'queued' | ReplayRefusal; submission: string | null }]>`
    select outcome, dead_text as submission from replay_dead(${workspaceId}::uuid, ${id}::uuid)`
  return { outcome: marked.outcome, submission: marked.submission === null ? null : parse(marked.submission) }
}

/**
 * The dead submissions whose next replay by maintenance is due, at most `limit`. Their next replay
 * moves on, so that one that is refused does not delay the others.
 */
export const takeDueRetries = async (sql: Sql, limit: number): Promise<{ workspaceId: string; id: string }[]> => {
  const due = await sql<{ workspaceId: string; id: string }[]>`
    select d.workspace_id as "workspaceId", d.id from dead_submission as d
    where d.retry_at <= now() and not exists (select from deleted_workspace as w where w.id = d.workspace_id)
    order by d.id limit ${limit}`
  for (const { workspaceId, id } of due)
    await sql`
      update dead_submission set retry_at = now() + interval '1 minute'
      where workspace_id = ${workspaceId} and id = ${id} and retry_at <= now()`
  return due
}

type BegunReplay = { workspaceId: string; id: string; submission: Submission }

/** The oldest replays that began more than `afterMs` ago and are not applied, at most `limit`. */
export const listBegunReplays = async (
  sql: Sql,
  { afterMs, limit }: { afterMs: number; limit: number },
): Promise<BegunReplay[]> => {
  const rows = await sql<(Omit<BegunReplay, 'submission'> & { submission: string })[]>`
    select d.workspace_id as "workspaceId", d.id, d.submission from dead_submission as d
    where d.replayed_at <= now() - make_interval(secs => ${afterMs / 1_000})
      and not exists (select from deleted_workspace as w where w.id = d.workspace_id)
    order by d.replayed_at limit ${limit}`
  return rows.map((row) => ({ ...row, submission: parse(row.submission) }))
}

const parse = (text: string): Submission => JSON.parse(text) as Submission
