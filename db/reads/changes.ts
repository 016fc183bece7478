import type { Sql } from '../postgres.ts'
import { type NamedRecord, readRecords } from './records.ts'

/**
 * A change of a record, at its place in the order of the workspace's changes. `record`: its JSON
 * text; undefined of one that is gone. `mergedInto`: the id of the record that absorbed it.
 */
export type Change = NamedRecord & { position: number; record: string | undefined; mergedInto: string | undefined }

/**
 * How far a reader has come: it knows all changes up to `position`, or is on its first pass, which
 * began when the last position was `passSince`.
 */
export type FeedPlace = { position: number; passSince: number | undefined }

export type ChangesPage = { changes: Change[]; next: FeedPlace } | 'expired'

type Progress = { last: number; forgotten: number }
type ChangeRow = NamedRecord & { position: number; gone: boolean; merged_into: string | null }
/** A workspace without further changes has one row without a change. */
type Row = Progress & (ChangeRow | { position: null })

/**
 * The next changes behind a place, at most `limit`. `expired`: tombstones that the reader needs are
 * not kept any more.
 */
export const readChanges = async (
  sql: Sql,
  workspaceId: string,
  { after, limit }: { after: FeedPlace; limit: number },
): Promise<ChangesPage> => {
  const found = await sql<Row[]>`
    select g.change_position::float8 as last, g.forgotten_position::float8 as forgotten,
      c.position::float8 as position, c.kind, c.id, c.gone,
      case when c.gone then nullif(current_id(g.workspace_id, c.kind, c.id), c.id) end as merged_into
    from workspace_progress as g
    left join lateral read_changes(g.workspace_id, ${after.position}::bigint, ${limit}) as c on true
    where g.workspace_id = ${workspaceId} order by c.position`
  const { last, forgotten } = found[0] ?? { last: 0, forgotten: 0 }
  const passSince = after.position === 0 ? last : after.passSince
  if (forgotten > Math.max(after.position, passSince ?? 0)) return 'expired'
  const rows = found.filter((row) => row.position !== null)
  const present = rows.filter(({ gone }) => !gone)
  const read = await readRecords(sql, workspaceId, present)
  const records = new Map(present.slice(0, read.length).map((row, at) => [row.position, read[at]]))
  const cutAt = present[read.length]?.position ?? Infinity
  const page = rows.filter(({ position }) => position < cutAt)
  const position = page.at(-1)?.position ?? after.position
  return {
    changes: page.flatMap((row) => changeOf(row, records.get(row.position))),
    next: { position, passSince: passSince !== undefined && position < passSince ? passSince : undefined },
  }
}

/**
 * A record that went after its change was read is left out: its tombstone comes at a later position.
 */
const changeOf = ({ position, kind, id, gone, merged_into }: ChangeRow, record: string | undefined): Change[] =>
  gone || record !== undefined ? [{ position, kind, id, record, mergedInto: merged_into ?? undefined }] : []
