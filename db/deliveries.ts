import type { Sql } from './connection/postgres.ts'
import { type Change, type FeedPlace, readChanges } from './reads/changes.ts'
import type { NamedRecord } from './reads/records.ts'
import type { Webhook, WebhookState } from './webhooks.ts'

/**
 * A change that a webhook has not confirmed, and that its position has passed. `isLarge`: its record
 * takes much memory.
 */
export type UndeliveredChange = NamedRecord & {
  position: number
  isTombstone: boolean
  isLarge: boolean
  attempts: number
  failingSince: Date
}

/** Stands for the fault of a change that waits for the tags of its feedback. */
export const WAITS_FOR_TAGS = 'waits for tags'

/** The most changes of a webhook that are tried again. At this number, it gets no new ones. */
const MOST_RETRIES = 1_000

/**
 * The undelivered changes that are tried again, the first due first. `hasRoom`: the webhook may get
 * new changes.
 */
export const listRetries = async (
  sql: Sql,
  { workspaceId, id }: Pick<Webhook, 'workspaceId' | 'id'>,
): Promise<{ due: UndeliveredChange[]; hasRoom: boolean }> => {
  const rows = await sql<(UndeliveredChange & { isDue: boolean; waitsForTags: boolean })[]>`
    select kind, record_id as id, position::float8 as position, is_tombstone as "isTombstone", is_large as "isLarge", attempts,
      failing_since as "failingSince", next_attempt_at <= now() as "isDue", fault = ${WAITS_FOR_TAGS} as "waitsForTags"
    from undelivered_change
    where workspace_id = ${workspaceId} and webhook_id = ${id} and next_attempt_at is not null
    order by next_attempt_at limit ${MOST_RETRIES}`
  // Tags come with new changes, so changes that wait for tags must not keep new ones away.
  return {
    due: rows.filter(({ isDue }) => isDue),
    hasRoom: rows.filter(({ waitsForTags }) => !waitsForTags).length < MOST_RETRIES,
  }
}

/** After every position that a tombstone can have: the read of a single change never expires. */
const NEVER_EXPIRED = Number.MAX_SAFE_INTEGER

/** The change at a position; undefined if its record has changed since, or its tombstone has expired. */
export const readChangeAt = async (sql: Sql, workspaceId: string, position: number): Promise<Change | undefined> => {
  const after = { position: position - 1, passSince: NEVER_EXPIRED }
  const page = await readChanges(sql, workspaceId, { after, limit: 1 })
  const change = page === 'expired' ? undefined : page.changes[0]
  return change?.position === position ? change : undefined
}

/**
 * An attempt to deliver a change. Without a `fault`, the change is confirmed or replaced by a later
 * one. `pauseMs`: until the next attempt; null if there is none.
 */
export type AttemptedChange = Omit<UndeliveredChange, 'failingSince'> & { fault?: string; pauseMs?: number | null }

/**
 * The outcome of some deliveries to a webhook.
 *
 * - `receiver`: `failing` if it confirms nothing, `unknown` if nothing tells.
 * - `pauseMs`: until the next deliveries.
 */
export type DeliveryRound = {
  place: FeedPlace
  confirmed: number
  state: WebhookState
  receiver: 'well' | 'failing' | 'unknown'
  fault?: string
  pauseMs: number
  attempted: readonly AttemptedChange[]
}

/** Notes a round, unless the webhook has another place or state by then. */
export const noteDeliveries = async (
  sql: Sql,
  { workspaceId, id, place }: Pick<Webhook, 'workspaceId' | 'id' | 'place'>,
  { place: to, attempted, ...round }: DeliveryRound,
): Promise<void> => {
  const json = sql.json({ ...round, ...to, sent: attempted })
  await sql`select note_deliveries(${workspaceId}::uuid, ${id}::uuid, ${place.position}::bigint, ${json}::jsonb)`
}
