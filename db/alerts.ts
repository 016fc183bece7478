import type { JsonObject } from '../contract/json.ts'
import type { Sql } from './connection/postgres.ts'

/** How many looks of the workspace have ended, its texts since then, and the Monday of its last digest. `today`: by the database. */
export type AlertLook = { looks: number; texts: number; digestWeek: string | null; today: string; staleDays: string[] }
/** `days`: how many days each is after the first day. */
export type StoredCount = { subject: string; key: string; source: string; days: number[]; people: number[] }
export type EarlierAlert = { subject: string; key: string; daysAgo: number }
/** The days of a look: `YYYY-MM-DD`. */
export type LookDays = { workspaceId: string; firstDay: string; today: string }

/** Workspaces with new texts whose look is due, the longest waiting first. */
export const listDueLooks = async (sql: Sql, most: number): Promise<string[]> => {
  const rows = await sql<{ id: string }[]>`
    select workspace_id as id from alert_look where due_at <= now() order by due_at limit ${most}`
  return rows.map(({ id }) => id)
}

const POSTPONED_MINUTES = 10

export const postponeLook = async (sql: Sql, workspaceId: string): Promise<void> => {
  await sql`
    update alert_look set due_at = now() + make_interval(mins => ${POSTPONED_MINUTES}::int) where workspace_id = ${workspaceId}`
}

export const readLook = async (sql: Sql, workspaceId: string): Promise<AlertLook | undefined> => {
  const [look] = await sql<AlertLook[]>`
    select looks, texts, digest_week::text as "digestWeek", (now() at time zone 'utc')::date::text as today,
      array(select d::text from unnest(stale_days) as u (d) order by d desc) as "staleDays"
    from alert_look where workspace_id = ${workspaceId}`
  return look
}

/** Returns whether there may be more changes to mark. */
export const markStaleDays = async (sql: Sql, { workspaceId, firstDay, today }: LookDays): Promise<boolean> => {
  const [row] = await sql<[{ hasMore: boolean }]>`
    select mark_stale_days(${workspaceId}::uuid, ${firstDay}::date, ${today}::date) as "hasMore"`
  return row.hasMore
}

export const countAlertDay = async (sql: Sql, workspaceId: string, day: string): Promise<void> => {
  await sql`select count_alert_day(${workspaceId}::uuid, ${day}::date)`
}

export const readAlertCounts = (
  sql: Sql,
  { workspaceId, firstDay, today }: LookDays,
  leastRecent: number,
): Promise<StoredCount[]> =>
  sql<StoredCount[]>`
    select subject, key, source, to_json(days) as days, to_json(people) as people
    from read_alert_counts(${workspaceId}::uuid, ${firstDay}::date, ${today}::date, ${leastRecent}::int)`.execute()

/** How many keys of each subject have so many people. */
export const countAlertKeys = async (
  sql: Sql,
  { workspaceId, firstDay, today }: LookDays,
  leastPeople: number,
): Promise<ReadonlyMap<string, number>> => {
  const rows = await sql<{ subject: string; keys: number }[]>`
    select subject, keys from count_alert_keys(${workspaceId}::uuid, ${firstDay}::date, ${today}::date, ${leastPeople}::int)`
  return new Map(rows.map(({ subject, keys }) => [subject, keys]))
}

/** The alerts since this day. */
export const listEarlierAlerts = (sql: Sql, { workspaceId, firstDay }: LookDays): Promise<EarlierAlert[]> =>
  sql<EarlierAlert[]>`
    select subject, coalesce(theme_id::text, kind, tag_id::text, source, account_id::text) as key,
      (extract(epoch from now() - created_at) / 86400)::float8 as "daysAgo"
    from alert where workspace_id = ${workspaceId} and created_at >= ${firstDay}::date`.execute()

type NewAlert = {
  id: string
  subject: string
  change: string
  key: string
  days: number
  people: number
  expected: number
}
export type NewDigest = { id: string; week: string; changes: readonly JsonObject[] }

/** Stores what a look has found, unless another look has ended after `looks`. Returns whether it did. */
export const storeLook = async (
  sql: Sql,
  { workspaceId, firstDay }: LookDays,
  look: { looks: number; texts: number; alerts: readonly NewAlert[]; digest: NewDigest | undefined },
): Promise<boolean> => {
  const digest = look.digest === undefined ? null : sql.json(look.digest)
  const [row] = await sql<[{ isStored: boolean }]>`
    select store_look(${workspaceId}::uuid, ${look.looks}::int, ${look.texts}::int, ${firstDay}::date,
      ${sql.json([...look.alerts])}::jsonb, ${digest}::jsonb) as "isStored"`
  return row.isStored
}
