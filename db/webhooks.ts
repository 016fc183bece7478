import type { Sql } from './connection/postgres.ts'
import type { FeedPlace } from './reads/changes.ts'

/**
 * - `active`: the webhook gets changes.
 * - `paused`: an operator has stopped the webhook.
 * - `failed`: the webhook has not confirmed a delivery for a day, or needs expired tombstones.
 * - `gone`: the server has answered 410.
 */
type WebhookState = 'active' | 'paused' | 'failed' | 'gone'

export type Webhook = {
  workspaceId: string
  id: string
  url: string
  state: WebhookState
  place: FeedPlace
  secretVersion: number
  /** The former secret signs, too. */
  isRotating: boolean
  /** Attempts at the failing delivery; 0 if no delivery fails. */
  attempts: number
  failingSince: Date | null
}

/** The status of a webhook for operators. `isBehind`: it has not confirmed the latest changes. */
export type WebhookStatus = Pick<Webhook, 'id' | 'url' | 'state' | 'failingSince'> & {
  workspace: string
  position: number
  isBehind: boolean
  delivered: number
  fault: string | null
}

/**
 * Creates a webhook that gets the changes after the change position `from`, or after the last
 * change if that is undefined. Returns its id; undefined if the workspace does not exist or is
 * being deleted.
 */
export const createWebhook = async (
  sql: Sql,
  { workspace, url, from }: { workspace: string; url: string; from: number | undefined },
): Promise<string | undefined> => {
  const [found] = await sql<{ id: string }[]>`select id from workspace where name = ${workspace}`
  if (found === undefined) return undefined
  const [row] = await sql<[{ id: string | null }]>`
    select create_webhook(${found.id}::uuid, ${url}::text, ${from ?? null}::bigint) as id`
  return row.id ?? undefined
}

export const listWebhooks = (sql: Sql): Promise<WebhookStatus[]> =>
  sql<WebhookStatus[]>`
    select h.id, h.url, h.state, h.failing_since as "failingSince", w.name as workspace, h.position::float8 as position,
      h.position < p.change_position as "isBehind", h.delivered::float8 as delivered, h.fault
    from webhook as h join workspace as w on w.id = h.workspace_id
    join workspace_progress as p on p.workspace_id = h.workspace_id
    order by w.name, h.created_at`.execute()

export const findWebhook = async (sql: Sql, { id, workspaceId }: { id: string; workspaceId?: string }) => {
  const [row] = await sql<(Omit<Webhook, 'place'> & { position: number; passSince: number | null })[]>`
    select workspace_id as "workspaceId", id, url, state, position::float8 as position, pass_since::float8 as "passSince",
      secret as "secretVersion", coalesce(former_secret_until > now(), false) as "isRotating", attempts,
      failing_since as "failingSince"
    from webhook where id::text = ${id} and (${workspaceId ?? null}::uuid is null or workspace_id = ${workspaceId ?? null}::uuid)`
  if (row === undefined) return undefined
  const { position, passSince, ...rest } = row
  return { ...rest, place: { position, passSince: passSince ?? undefined } } satisfies Webhook
}

/** Active webhooks with unconfirmed changes whose next attempt is due. */
export const listDueWebhooks = (sql: Sql): Promise<{ workspaceId: string; webhookId: string }[]> =>
  sql<{ workspaceId: string; webhookId: string }[]>`
    select h.workspace_id as "workspaceId", h.id as "webhookId" from webhook as h
    join workspace_progress as p on p.workspace_id = h.workspace_id
    where h.state = 'active' and h.next_attempt_at <= now() and h.position < p.change_position`.execute()

/** Webhooks with problems: `failing` ones are tried again, `ended` ones are not. */
export type WebhookProblems = { failing: number; ended: number }

export const countWebhooks = async (sql: Sql): Promise<WebhookProblems> => {
  const [row] = await sql<WebhookProblems[]>`
    select count(*) filter (where state = 'active' and failing_since is not null)::float8 as failing,
      count(*) filter (where state in ('failed', 'gone'))::float8 as ended
    from webhook`
  return row!
}

type WebhookKey = Pick<Webhook, 'workspaceId' | 'id'>

/** Notes the confirmed place, unless the webhook has another place or state by then. */
export const advanceWebhook = async (
  sql: Sql,
  { workspaceId, id, place }: WebhookKey & Pick<Webhook, 'place'>,
  { to, delivered }: { to: FeedPlace; delivered: number },
): Promise<void> => {
  await sql`
    update webhook set position = ${to.position}, pass_since = ${to.passSince ?? null}, delivered = delivered + ${delivered},
      attempts = 0, failing_since = null, fault = null, next_attempt_at = now()
    where workspace_id = ${workspaceId} and id = ${id} and state = 'active' and position = ${place.position}`
}

/** Notes a failed attempt, and when the next one is due. `state`: the state from now on. */
export const noteWebhookFault = async (
  sql: Sql,
  { workspaceId, id }: WebhookKey,
  { fault, pauseMs, state }: { fault: string; pauseMs: number; state: WebhookState },
): Promise<void> => {
  await sql`
    update webhook set attempts = attempts + 1, failing_since = least(failing_since, now()), fault = ${fault},
      next_attempt_at = now() + ${pauseMs}::float8 * interval '1 millisecond', state = ${state}
    where workspace_id = ${workspaceId} and id = ${id} and state = 'active'`
}

/**
 * Sets the state by hand. The webhook goes on after the change position `from`, if that is given.
 * Returns false if the webhook does not exist.
 */
export const setWebhookState = async (
  sql: Sql,
  id: string,
  { state, from }: { state: 'active' | 'paused'; from?: number },
): Promise<boolean> => {
  const { count } = await sql`
    update webhook set state = ${state}, position = coalesce(${from ?? null}::bigint, position),
      pass_since = case when ${from ?? null}::bigint is null then pass_since end,
      attempts = 0, failing_since = null, fault = null, next_attempt_at = now()
    where id::text = ${id}`
  return count === 1
}

/**
 * Makes the next secret and returns its version; undefined if the webhook does not exist. The
 * former secret also signs for a day.
 */
export const rotateWebhookSecret = async (sql: Sql, id: string): Promise<number | undefined> => {
  const [row] = await sql<{ version: number }[]>`
    update webhook set secret = secret + 1, former_secret_until = now() + interval '1 day'
    where id::text = ${id} returning secret as version`
  return row?.version
}

export const deleteWebhook = async (sql: Sql, id: string): Promise<boolean> =>
  (await sql`delete from webhook where id::text = ${id}`).count === 1
