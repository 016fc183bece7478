import { type Facts, mergeFacts } from './contract/facts.ts'
import type { JsonObject, JsonValue } from './contract/json.ts'
import type { Operation } from './contract/job.ts'
import type { KeyKind } from './contract/own-id.ts'
import type { Reference } from './contract/reference.ts'
import type { Sql } from './postgres.ts'

/** What an identify call says about one key, as a row of `identity_key`. */
export type KeyRow = {
  id: string
  kind: KeyKind
  group_id: string
  home_id: string | null
  source: string
  external_id: string
  said_from: number
  last_number: number
  facts: Facts
  account_id: string | null
  account_number: number | null
}

/** An identified contact or account (`target_id`) says that a weak key is its own. */
export type ClaimRow = { key_id: string; kind: KeyKind; number: number; target_id: string }

export type FeedbackRow = {
  id: string
  description: string
  title: string | null
  is_transcript: boolean | null
  tags: string[] | null
  rating: number | null
  source: string
  source_id: string | null
  source_data: JsonObject | null
  number: number
  contact_ref: Reference | null
  account_ref: Reference | null
  project_ref: Reference | null
}

export type ConversationRow = {
  id: string
  external_id: string
  source: string
  title: string | null
  rating: number | null
  properties: JsonObject
  created_at: string
  updated_at: string | null
  number: number
  contact_keys: string[]
}

export type MessageRow = {
  id: string
  conversation_id: string
  external_id: string
  incoming: boolean
  content: string
  source_url: string | null
  raw_data: JsonObject
  created_at: string
  number: number
  source: string
  contact_ref: Reference | null
}

/** A submission that these rows settle; `record` is the feedback or conversation that it is about. */
export type SettledRow = { id: string; number: number; operation: Operation; attempts: number; record: string | null }

/** The rows that one submission comes to. */
export type Rows = {
  workspaceId: string
  submission: SettledRow
  keys?: KeyRow[]
  claims?: ClaimRow[]
  feedback?: FeedbackRow
  conversation?: ConversationRow
  messages?: MessageRow[]
}

export type SettledSubmission = { id: string; state: 'applied' | 'superseded' }

/**
 * Stores what any number of submissions come to, of any workspaces, in any order: one statement, all or nothing. Returns the
 * submissions that this call settled; those missing had been settled before (redelivery changes nothing).
 *
 * @throws the driver's error; see `isPermanentFault`.
 */
export const store = async (sql: Sql, batch: readonly Rows[]): Promise<SettledSubmission[]> => {
  const byWorkspace: Record<string, JsonValue> = {}
  for (const [workspaceId, rows] of Map.groupBy(batch, (row) => row.workspaceId)) {
    byWorkspace[workspaceId] = workspacePart(rows)
  }
  return sql<SettledSubmission[]>`select id, state from store(${sql.json(byWorkspace)})`
}

const workspacePart = (rows: readonly Rows[]): JsonObject => {
  const ordered = rows.toSorted((a, b) => a.submission.number - b.submission.number)
  const keys = ordered.flatMap((row) => oncePerKey(row.keys ?? []))
  const feedback = ordered.flatMap((row) => row.feedback ?? [])
  const conversations = ordered.flatMap((row) => row.conversation ?? [])
  const part: Record<string, unknown> = { submissions: ordered.map((row) => row.submission) }
  if (keys.length > 0) {
    part['keys'] = keys
    part['claims'] = ordered.flatMap((row) => decided(row.claims ?? []))
  }
  if (feedback.length > 0) part['feedback'] = feedback
  if (conversations.length > 0) {
    part['conversations'] = conversations
    part['messages'] = ordered.flatMap((row) => row.messages ?? [])
  }
  return part as JsonObject
}

/** Of several who claim the same in one submission, the last decides. */
const decided = (claims: readonly ClaimRow[]) => {
  const last = new Map(claims.map((claim) => [claim.key_id, claim]))
  const once = new Map(claims.map((claim) => [`${claim.key_id} ${claim.target_id}`, claim]))
  return [...once.values()].map((claim) => ({
    ...claim,
    link: false,
    decides: last.get(claim.key_id)!.target_id === claim.target_id,
  }))
}

/** A conversation can name an account more than once: what it says is put together, the later counting. */
const oncePerKey = (rows: readonly KeyRow[]): KeyRow[] => {
  const merged = new Map<string, KeyRow>()
  for (const row of rows) {
    const earlier = merged.get(row.id)
    merged.set(row.id, earlier ? joined(earlier, row) : row)
  }
  return [...merged.values()]
}

const joined = (earlier: KeyRow, later: KeyRow): KeyRow => ({
  ...earlier,
  last_number: later.last_number,
  facts: mergeFacts(earlier.facts, later.facts),
  ...(later.account_id !== null && { account_id: later.account_id, account_number: later.account_number }),
})
