import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { Operation } from '../../contract/submission.ts'
import type { Sql } from '../connection/postgres.ts'

/**
 * A changed row; `w` is the index of its workspace. Members without a value may be absent. `save`
 * sets `later` in rows of the change feed: the number of changes of the workspace after this row in
 * the same save. The change position of the row is the last change position of the save minus
 * `later`, since `advance_positions` returns the last one.
 */
type Row<Members> = { w: number; later?: number } & Members
type Link = { id: string; target: string }
/** A new or changed contact or account. */
type ProfileRow = {
  id: string
  columns: Readonly<Record<string, JsonValue>>
  /** Metadata keys to set. */
  properties?: JsonObject | undefined
  /** All metadata, in place of the stored one. */
  all_properties?: JsonObject | undefined
  account?: string | undefined
  first_number: number
  number: number
  newest_number?: number | undefined
}
type ReceiptRow = {
  id: string
  /** The submission's number at its acceptance. */
  number: number
  operation: Operation
  state: 'applied' | 'superseded'
  is_replay?: boolean | undefined
  key?: string | undefined
  body_hash?: string | undefined
  subject?: string | undefined
}

/** The changes of strides, as rows by table. db/functions/save.sql describes their effects. */
export type Changes = {
  account: Row<ProfileRow>[]
  account_gone: Row<Link>[]
  account_alias: Row<Link>[]
  account_key: Row<{ key: string; source: string; external_id: string; account: string }>[]
  domain: Row<{ domain: string; account: string; claimed: boolean }>[]
  account_name: Row<{ name: string; account?: string; domain?: string; claimed: boolean }>[]
  contact: Row<ProfileRow>[]
  contact_gone: Row<Link>[]
  contact_alias: Row<Link>[]
  contact_key: Row<{ key: string; source: string; external_id: string; contact: string; number: number }>[]
  email: Row<{ email: string; contact: string; number: number; claimed: boolean }>[]
  email_gone: Row<{ email: string; contact: string }>[]
  project: Row<{ id: string; name: string; first_number: number }>[]
  /** A tag that feedback of the stride carries; `uses`: how many. */
  category: Row<{ title: string; uses: number }>[]
  feedback: Row<FeedbackRow>[]
  conversation: Row<ConversationRow>[]
  conversation_touched: Row<{ id: string; latest_version?: string | undefined }>[]
  conversation_contact: Row<{ conversation: string; contact: string }>[]
  message: Row<MessageRow>[]
  resolved: Row<{ key: string; target: string }>[]
  unresolved: Row<{ key: string; slot: 'c' | 'a' | 'm'; record: string }>[]
  receipt: Row<ReceiptRow>[]
}

type FeedbackRow = {
  id: string
  description: string
  title?: string | undefined
  is_transcript?: boolean | undefined
  tags?: string[] | undefined
  former_tags?: string[] | undefined
  rating?: number | undefined
  source: string
  source_id?: string | undefined
  source_data?: JsonObject | undefined
  source_created_at?: string | undefined
  contact?: string | undefined
  account?: string | undefined
  project?: string | undefined
  number: number
  newest_number?: number | undefined
  first_number: number
}

export type ConversationRow = {
  id: string
  external_id: string
  source: string
  title?: string | undefined
  rating?: number | undefined
  properties: JsonObject
  created_at: string
  updated_at?: string | undefined
  latest_version?: string | undefined
  number: number
  newest_number?: number | undefined
}

type MessageRow = {
  id: string
  conversation: string
  external_id: string
  incoming: boolean
  contact?: string | undefined
  content: string
  source_url?: string | undefined
  raw_data: JsonObject
  created_at: string
  version?: string | undefined
  number: number
  newest_number?: number | undefined
}

/** The tables in the order of the parameters of `save`. */
const TABLES = [
  'account',
  'account_gone',
  'account_alias',
  'account_key',
  'domain',
  'account_name',
  'contact',
  'contact_gone',
  'contact_alias',
  'contact_key',
  'email',
  'email_gone',
  'project',
  'category',
  'feedback',
  'conversation',
  'conversation_touched',
  'conversation_contact',
  'message',
  'resolved',
  'unresolved',
  'receipt',
] as const satisfies readonly (keyof Changes)[]

/**
 * The tables of the change feed, in the order of the change positions. A record comes after the
 * records to which it refers.
 */
const FEED_TABLES = [
  'account',
  'contact',
  'project',
  'category',
  'feedback',
  'conversation',
  'conversation_touched',
  'message',
] as const satisfies readonly (keyof Changes)[]

export const noChanges = (): Changes =>
  Object.fromEntries(TABLES.map((table) => [table, []])) as { [table in keyof Changes]: never[] }

/** The expected position of a workspace, its new one, and the submissions in between by state. */
export type PositionAdvance = { w: number; expected: number; position: number; applied: number; superseded: number }

type SaveRequest = {
  workspaceIds: readonly string[]
  positions: readonly PositionAdvance[]
  changes: Changes
  /**
   * Wait for a writer that has locked one of the workspaces. If false, the outcome is `busy` then.
   */
  waits: boolean
}

/**
 * A contact or account that would have too many metadata keys. The fold needs all of its metadata
 * to choose the keys that stay.
 */
type OverfullProfile = { kind: 'contact' | 'account'; w: number; id: string }

type Saved =
  | { outcome: 'saved'; /** Indices of workspaces that may have more feedback to move. */ moves: number[] }
  | {
      outcome: 'busy'
      /** Indices of workspaces that are deleted, or that another writer has locked or moved. */ busy: number[]
    }
  | { outcome: 'too-many'; profiles: OverfullProfile[] }

const QUERY = `select kind, w from save(($1::text)::uuid[], $2::boolean, ($3::text)::jsonb, ${TABLES.map(
  (_, at) => `($${at + 4}::text)::jsonb`,
).join(', ')})`
/** Raised by `refuse_too_many`. */
const TOO_MANY = 'P0999'

/** Saves all changes, or nothing. */
export const save = async (sql: Sql, { workspaceIds, positions, changes, waits }: SaveRequest): Promise<Saved> => {
  const counts = numberChanges(changes)
  const progress = positions.map((own) => ({ ...own, changes: counts.get(own.w) ?? 0 }))
  const tables = TABLES.map((table) => (changes[table].length > 0 ? JSON.stringify(changes[table]) : null))
  const parameters = [`{${workspaceIds.join()}}`, waits, JSON.stringify(progress), ...tables]
  try {
    const rows = await sql.unsafe<{ kind: 'busy' | 'moves'; w: number }[]>(QUERY, parameters, { prepare: true })
    const busy = rows.filter(({ kind }) => kind === 'busy').map(({ w }) => w)
    return busy.length > 0 ? { outcome: 'busy', busy } : { outcome: 'saved', moves: rows.map(({ w }) => w) }
  } catch (error) {
    if (!isTooMany(error)) throw error
    return { outcome: 'too-many', profiles: error.detail.split('\n').map(readTooMany) }
  }
}

/** Sets `later` in all rows of the change feed. Returns their number by workspace. */
const numberChanges = (changes: Changes): Map<number, number> => {
  const counts = new Map<number, number>()
  for (const table of FEED_TABLES.toReversed()) {
    for (const row of changes[table].toReversed()) {
      const later = counts.get(row.w) ?? 0
      row.later = later
      counts.set(row.w, later + 1)
    }
  }
  return counts
}

const isTooMany = (error: unknown): error is { code: string; detail: string } =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === TOO_MANY && 'detail' in error

const readTooMany = (line: string): OverfullProfile => {
  const [kind, w, id] = line.split(' ')
  return { kind: kind as OverfullProfile['kind'], w: Number(w), id: id! }
}

/** Moves the remaining feedback of absorbed contacts and accounts of a workspace, in steps. */
export const moveRecords = async (sql: Sql, workspaceId: string): Promise<void> => {
  for (;;) {
    const [row] = await sql<{ is_more: boolean }[]>`select move_step(${workspaceId}) as is_more`
    if (!row!.is_more) return
  }
}
