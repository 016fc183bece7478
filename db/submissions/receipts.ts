import type { PurgeConsumers, PurgeIdentifiers, Receipt, SubmissionState } from '../../contract/receipt.ts'
import type { Sql } from '../connection/postgres.ts'
import { ofEachWorkspace } from '../of-each-workspace.ts'
import { ALL_IDS } from '../workspaces/workspaces.ts'

type StoredReceipt = Omit<Receipt, 'acceptedAt' | 'finishedAt' | 'counts' | 'identifiers' | 'consumers'> & {
  acceptedAt: Date
  finishedAt: Date | null
  counts: Record<string, number> | null
  identifiers: PurgeIdentifiers | null
  changePosition: number | null
}

/** How many webhooks of the workspace there are, and how many have confirmed the changes up to a position. */
const countConsumers = async (sql: Sql, workspaceId: string, position: number): Promise<PurgeConsumers> => {
  const [row] = await sql<[PurgeConsumers]>`
    select count(*)::float8 as total, count(*) filter (
      where h.position >= ${position}::bigint and not exists (
        select from undelivered_change as u
        where u.workspace_id = h.workspace_id and u.webhook_id = h.id and u.is_tombstone and u.position <= ${position}::bigint)
    )::float8 as confirmed
    from webhook as h where h.workspace_id = ${workspaceId}`
  return row
}

/**
 * The receipt of a submission in this workspace. Undefined until the submission is applied, decided
 * or set aside. Also undefined after the receipt has expired, and for an unknown id.
 */
export const findReceipt = async (sql: Sql, workspaceId: string, id: string): Promise<Receipt | undefined> => {
  const [row] = await sql<StoredReceipt[]>`
    select id, operation, ${stateOf(sql)} as state, attempts, accepted_at as "acceptedAt",
      case when ${isMoving(sql)} then null else finished_at end as "finishedAt", error, counts, identifiers,
      change_position::float8 as "changePosition"
    from submission as s where workspace_id = ${workspaceId} and id = ${id}`
  if (!row) return undefined
  const { counts, identifiers, changePosition, ...rest } = row
  const consumers = changePosition === null ? null : await countConsumers(sql, workspaceId, changePosition)
  return {
    ...rest,
    acceptedAt: row.acceptedAt.toISOString(),
    finishedAt: row.finishedAt?.toISOString() ?? null,
    ...(counts !== null && { counts }),
    ...(identifiers !== null && { identifiers }),
    ...(consumers !== null && { consumers }),
  }
}

/** Whether the save of an applied submission has left records to move (db/functions/move.sql). */
const isMoving = (sql: Sql) => sql`
  s.state in ('applied', 'superseded') and exists (
    select from pending_move as m where m.workspace_id = s.workspace_id and m.saved_at <= s.finished_at)`

/** A submission is applied when its records have moved: a later request must find them. */
const stateOf = (sql: Sql) => sql`case when ${isMoving(sql)} then 'queued' else s.state end`

/** The progress of a submission. `isUnmatched`: a purge or deletion that found nothing to remove. */
export type SubmissionProgress = { id: string; state: SubmissionState; isUnmatched: boolean }

/** The progress of the given submissions that have a receipt. */
export const findProgress = async (
  sql: Sql,
  submissions: readonly { workspaceId: string; id: string }[],
): Promise<SubmissionProgress[]> => {
  const found = await ofEachWorkspace(submissions, async (workspaceId, own) => {
    const rows = await sql<SubmissionProgress[]>`
      select id, ${stateOf(sql)} as state,
        operation in ('purge_contact', 'delete_feedback') and state = 'applied' and change_position is null as "isUnmatched"
      from submission as s where workspace_id = ${workspaceId} and id = any (${own.map(({ id }) => id)}::uuid[])`
    const byId = new Map(rows.map((row) => [row.id, row]))
    return own.map(({ id }) => byId.get(id))
  })
  return found.filter((progress) => progress !== undefined)
}

/** The given submissions that have no receipt. */
export const findMissingReceipts = async (sql: Sql, workspaceId: string, ids: readonly string[]): Promise<string[]> => {
  const rows = await sql<{ id: string }[]>`
    select id from submission where workspace_id = ${workspaceId} and id = any (${[...ids]}::uuid[])`
  const found = new Set(rows.map(({ id }) => id))
  return ids.filter((id) => !found.has(id))
}

const ROWS_PER_STEP = 5_000
const MS_PER_DAY = 86_400_000

/**
 * Deletes the receipts of submissions that were accepted and finished more than `days` ago, in
 * steps, in all workspaces or in a range of ids. Receipts of queued submissions stay, and those of dead submissions until their content is
 * dropped. Returns how many it deleted. The counters of the workspace keep their totals.
 */
export const expireReceipts = async (sql: Sql, days: number, { first, last } = ALL_IDS): Promise<number> => {
  const before = new Date(Date.now() - days * MS_PER_DAY)
  const workspaces = await sql<{ id: string }[]>`
    select w.workspace_id as id from workspace_progress as w
    where w.workspace_id between ${first} and ${last} and exists (${expired(sql, sql`w.workspace_id`, before)})`
  let deleted = 0
  for (const { id } of workspaces) deleted += await expireIn(sql, id, before)
  return deleted
}

const expireIn = async (sql: Sql, workspaceId: string, before: Date): Promise<number> => {
  let deleted = 0
  for (;;) {
    const { count } = await sql`
      delete from submission where workspace_id = ${workspaceId} and id = any (array(
        ${expired(sql, sql`${workspaceId}::uuid`, before)} order by s.id limit ${ROWS_PER_STEP}))`
    deleted += count
    if (count < ROWS_PER_STEP) return deleted
  }
}

const expired = (sql: Sql, workspaceId: ReturnType<Sql>, before: Date) => sql`
  select s.id from submission as s
  where s.workspace_id = ${workspaceId} and s.id < ${leastIdOf(before)}::uuid and s.finished_at < ${before}
    and s.state <> 'queued'
    and not exists (select from dead_submission as d where d.workspace_id = s.workspace_id and d.id = s.id)`

/** The lowest id (UUIDv7) of a submission at this time. */
const leastIdOf = (time: Date): string => {
  const hex = time.getTime().toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}
