import type { JsonObject } from '../contract/json.ts'
import type { WebhookScope } from '../contract/webhook-settings.ts'
import type { Sql } from './connection/postgres.ts'
import type { FeedPlace } from './reads/changes.ts'
import type { NamedRecord } from './reads/records.ts'

/**
 * - `active`: the webhook gets changes.
 * - `paused`: an operator has stopped the webhook.
 * - `failed`: the webhook has not confirmed a delivery for a day, or needs expired tombstones.
 * - `gone`: the server has answered 410.
 */
export type WebhookState = 'active' | 'paused' | 'failed' | 'gone'

export type Webhook = WebhookScope & {
  workspaceId: string
  id: string
  url: string
  state: WebhookState
  place: FeedPlace
  secretVersion: number
  /** The former secret signs, too. */
  isRotating: boolean
  /** How often in a row deliveries were tried and none was confirmed. */
  attempts: number
  failingSince: Date | null
  /** The pause after the latest failure is over. */
  isDue: boolean
}

/**
 * The status of a webhook for operators. `isBehind`: it has not reached the latest changes.
 * `undelivered`: how many changes before its position it has not confirmed.
 */
export type WebhookStatus = Pick<Webhook, 'workspaceId' | 'id' | 'url' | 'state' | keyof WebhookScope> & {
  workspace: string
  position: number
  isBehind: boolean
  delivered: number
  undelivered: number
  fault: string | null
}

export type NewWebhook = WebhookScope & { workspaceId: string; url: string; from: number | undefined }

/**
 * Creates a webhook that gets the changes after the change position `from`, or after the last
 * change if that is undefined. Returns its id; undefined if the workspace does not exist or is
 * being deleted.
 */
export const createWebhook = async (
  sql: Sql,
  { workspaceId, url, from, kinds, filter, holdUntilTagged, format }: NewWebhook,
): Promise<string | undefined> => {
  const [row] = await sql<[{ id: string | null }]>`
    select create_webhook(${workspaceId}::uuid, ${url}::text, ${from ?? null}::bigint, ${kinds}::text[],
      ${filter && sql.json(filter as JsonObject)}::jsonb, ${holdUntilTagged}::boolean, ${format}::text) as id`
  return row.id ?? undefined
}

/** The webhooks of a workspace, or of all. */
export const listWebhooks = (sql: Sql, workspaceId: string | null = null): Promise<WebhookStatus[]> =>
  sql<WebhookStatus[]>`
    select h.kinds, h.filter, h.hold_until_tagged as "holdUntilTagged", h.format, h.workspace_id as "workspaceId", h.id, h.url, h.state, w.name as workspace, h.position::float8 as position,
      h.position < p.change_position as "isBehind", h.delivered::float8 as delivered, h.fault,
      coalesce(u.changes, 0)::float8 as undelivered
    from webhook as h join workspace as w on w.id = h.workspace_id
    join workspace_progress as p on p.workspace_id = h.workspace_id
    left join (
      select workspace_id, webhook_id, count(*) as changes from undelivered_change group by workspace_id, webhook_id
    ) as u on u.workspace_id = h.workspace_id and u.webhook_id = h.id
    where ${workspaceId}::uuid is null or h.workspace_id = ${workspaceId}::uuid
    order by w.name, h.created_at`.execute()

/** An undelivered change for operators. `isGivenUp`: the workers do not try it again. */
type UndeliveredStatus = NamedRecord & { failingSince: Date; isGivenUp: boolean; fault: string }

/** The first undelivered changes of a webhook. Changes that the workers have given up come first. */
export const listUndelivered = (
  sql: Sql,
  { workspaceId, id }: WebhookKey,
  limit: number,
): Promise<UndeliveredStatus[]> =>
  sql<UndeliveredStatus[]>`
    select kind, record_id as id, failing_since as "failingSince", next_attempt_at is null as "isGivenUp", fault
    from undelivered_change where workspace_id = ${workspaceId} and webhook_id = ${id}
    order by next_attempt_at is not null, position limit ${limit}`.execute()

export const findWebhook = async (sql: Sql, { id, workspaceId }: { id: string; workspaceId?: string }) => {
  const [row] = await sql<(Omit<Webhook, 'place'> & { position: number; passSince: number | null })[]>`
    select workspace_id as "workspaceId", id, url, state, position::float8 as position, pass_since::float8 as "passSince",
      secret as "secretVersion", coalesce(former_secret_until > now(), false) as "isRotating", attempts,
      failing_since as "failingSince", next_attempt_at <= now() as "isDue", kinds, filter, hold_until_tagged as "holdUntilTagged", format
    from webhook where id::text = ${id} and (${workspaceId ?? null}::uuid is null or workspace_id = ${workspaceId ?? null}::uuid)`
  if (row === undefined) return undefined
  const { position, passSince, ...rest } = row
  return { ...rest, place: { position, passSince: passSince ?? undefined } } satisfies Webhook
}

/** How many webhooks of a workspace workers deliver to at a time. The others take turns. */
export const WEBHOOKS_AT_ONCE = 4

/**
 * Active webhooks with changes to deliver, or to deliver again, whose pause is over: at most
 * `WEBHOOKS_AT_ONCE` of a workspace, the longest waiting first.
 */
export const listDueWebhooks = (sql: Sql): Promise<{ workspaceId: string; webhookId: string }[]> =>
  sql<{ workspaceId: string; webhookId: string }[]>`
    select "workspaceId", "webhookId" from (
      select h.workspace_id as "workspaceId", h.id as "webhookId",
        row_number() over (partition by h.workspace_id order by h.next_attempt_at) as turn
      from webhook as h join workspace_progress as p on p.workspace_id = h.workspace_id
      left join (
        select workspace_id, webhook_id, min(next_attempt_at) as first_at from undelivered_change
        where next_attempt_at is not null group by workspace_id, webhook_id
      ) as u on u.workspace_id = h.workspace_id and u.webhook_id = h.id
      where h.state = 'active' and h.next_attempt_at <= now() and (h.position < p.change_position or u.first_at <= now())
    ) as due where turn <= ${WEBHOOKS_AT_ONCE}`.execute()

/**
 * Webhooks with problems: `failing` ones are tried again, `ended` ones are not. `undelivered`: the
 * changes that workers have given up, or have tried several times.
 */
export type WebhookProblems = { failing: number; ended: number; undelivered: number }

/** After fewer attempts, a failure counts as passing. */
const ATTEMPTS_TO_SEE = 5

export const countWebhooks = async (sql: Sql): Promise<WebhookProblems> => {
  const [row] = await sql<Omit<WebhookProblems, 'undelivered'>[]>`
    select count(*) filter (where state = 'active' and failing_since is not null)::float8 as failing,
      count(*) filter (where state in ('failed', 'gone'))::float8 as ended
    from webhook`
  const [changes] = await sql<{ undelivered: number }[]>`
    select count(*)::float8 as undelivered from undelivered_change
    where next_attempt_at is null or attempts >= ${ATTEMPTS_TO_SEE}`
  return { ...row!, ...changes! }
}

type WebhookKey = Pick<Webhook, 'workspaceId' | 'id'>

/**
 * Sets the state by hand. The webhook goes on after the change position `from`, if that is given. An
 * active webhook tries its undelivered changes again. Returns false if the webhook does not exist.
 */
export const setWebhookState = async (
  sql: Sql,
  id: string,
  { state, from }: { state: 'active' | 'paused'; from?: number },
): Promise<boolean> => {
  const webhook = await findWebhook(sql, { id })
  if (webhook === undefined) return false
  const [row] = await sql<[{ isFound: boolean }]>`
    select set_webhook_state(${webhook.workspaceId}::uuid, ${webhook.id}::uuid, ${state}::text, ${from ?? null}::bigint)
      as "isFound"`
  return row.isFound
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

/** `named`: with a workspace, only a webhook of it. */
export const deleteWebhook = async (sql: Sql, named: { id: string; workspaceId?: string }): Promise<boolean> => {
  const webhook = await findWebhook(sql, named)
  if (webhook === undefined) return false
  const [row] = await sql<[{ existed: boolean }]>`
    select delete_webhook(${webhook.workspaceId}::uuid, ${webhook.id}::uuid) as existed`
  return row.existed
}
