import type { Sql } from '../connection/postgres.ts'
import { ALL_IDS } from '../workspaces/workspaces.ts'
import { MOST_BYTES, type NamedRecord } from './records.ts'

/**
 * A change of a record, at its position in the workspace's feed. `record`: its JSON text; undefined
 * for a deleted record. `mergedInto`: the id of the absorber.
 */
export type Change = NamedRecord & { position: number; record: string | undefined; mergedInto: string | undefined }

/**
 * How far a consumer has read: up to the change position `position`. `passSince`: while the
 * consumer is on its first pass, the last change position when the pass began.
 */
export type FeedPlace = { position: number; passSince: number | undefined }

/** `passSince`: for `placeAt`, if the consumer confirms only a part of the page. */
export type ChangesPage = { changes: Change[]; next: FeedPlace; passSince: number | undefined } | 'expired'

type FeedBounds = { last: number; forgotten: number }
type ChangeRow = NamedRecord & { position: number; gone: boolean; merged_into: string | null; record: string | null }
/** The first row has no change. */
type FeedRow = FeedBounds & (ChangeRow | { position: null })

/**
 * The next changes after a place, at most `limit`. `expired`: tombstones that the consumer needs
 * have expired.
 *
 * One statement reads positions and records. Two statements could go to two standbys, and the
 * second standby could lack records of the first.
 */
export const readChanges = async (
  sql: Sql,
  workspaceId: string,
  { after, limit, mostBytes = MOST_BYTES }: { after: FeedPlace; limit: number; mostBytes?: number },
): Promise<ChangesPage> => {
  const found = await sql<FeedRow[]>`
    select last::float8 as last, forgotten::float8 as forgotten, position::float8 as position, kind, id, gone, merged_into, record
    from read_changes(${workspaceId}::uuid, ${after.position}::bigint, ${limit}::int, ${mostBytes}::bigint)`
  const { last, forgotten } = found[0] ?? { last: 0, forgotten: 0 }
  const passSince = after.position === 0 ? last : after.passSince
  if (forgotten > Math.max(after.position, passSince ?? 0)) return 'expired'
  const rows = found.filter((row) => row.position !== null)
  const cutAt = rows.findIndex(({ gone, record }) => !gone && record === null)
  const page = cutAt < 0 ? rows : rows.slice(0, cutAt)
  const isLast = cutAt < 0 && rows.length < limit
  const position = isLast ? Math.max(after.position, last) : (page.at(-1)?.position ?? after.position)
  return { changes: page.map(changeOf), next: placeAt(position, passSince), passSince }
}

/**
 * The place of a consumer that has reached a change position. The first pass ends when the consumer
 * reaches `passSince`.
 */
export const placeAt = (position: number, passSince: number | undefined): FeedPlace => ({
  position,
  passSince: passSince !== undefined && position < passSince ? passSince : undefined,
})

const changeOf = ({ position, kind, id, record, merged_into }: ChangeRow): Change => ({
  position,
  kind,
  id,
  record: record ?? undefined,
  mergedInto: merged_into ?? undefined,
})

const ROWS_PER_STEP = 5_000
const MICROSECONDS_PER_DAY = 86_400_000_000
const MICROSECONDS_PER_MS = 1_000

/**
 * Deletes tombstones that are more than `days` old, in steps, in all workspaces or in a range of
 * ids. Returns how many. A position is at least the time of its change, so no tombstone goes early.
 */
export const expireTombstones = async (sql: Sql, days: number, { first, last } = ALL_IDS): Promise<number> => {
  const before = Date.now() * MICROSECONDS_PER_MS - days * MICROSECONDS_PER_DAY
  const workspaces = await sql<{ id: string }[]>`
    select w.workspace_id as id from workspace_progress as w
    where w.workspace_id between ${first} and ${last}
      and exists (select from tombstone as t where t.workspace_id = w.workspace_id and t.position < ${before}::bigint)`
  let deleted = 0
  for (const { id } of workspaces) deleted += await expireIn(sql, id, before)
  return deleted
}

const expireIn = async (sql: Sql, workspaceId: string, before: number): Promise<number> => {
  let deleted = 0
  for (;;) {
    const [step] = await sql<[{ rows: number }]>`
      select expire_tombstones(${workspaceId}::uuid, ${before}::bigint, ${ROWS_PER_STEP}::int) as rows`
    deleted += step.rows
    if (step.rows < ROWS_PER_STEP) return deleted
  }
}
