import type { Changes } from '../../fold/changes.ts'
import type { Sql } from '../connection/postgres.ts'

export type SaveRequest = {
  workspaceId: string
  /** The loaded position, and the position after the save. */
  expected: number
  position: number
  /** How many submissions in between end in each state. */
  applied: number
  superseded: number
  changes: Changes
  /**
   * Wait for a writer that has locked the workspace. Otherwise the outcome can be `busy` then.
   * Calls that share a statement wait if one of them does.
   */
  waits: boolean
}

export type Saved =
  /** `hasMoves`: there may be more records to move. */
  | { outcome: 'saved'; hasMoves: boolean }
  /** The workspace is deleted, or another writer has locked or moved it. */
  | { outcome: 'busy' }
  /** These contacts or accounts would have too many metadata keys. Nothing is saved. */
  | { outcome: 'too-many'; profiles: { kind: 'contact' | 'account'; id: string }[] }

/**
 * The tables of the change feed, in the order of the change positions. A record comes after the
 * records to which it refers.
 */
const FEED_TABLES = [
  'account',
  'contact',
  'project',
  'feedback_category',
  'theme_edit',
  'feedback',
  'conversation',
  'conversation_touched',
  'message',
] as const satisfies readonly (keyof Changes)[]

const COLUMNS = `select workspace_id as "workspaceId", has_moves as "hasMoves"`
const QUERY = `${COLUMNS} from save($1::uuid, $2::jsonb, $3::boolean, $4::jsonb)`
const QUERY_SEVERAL = `${COLUMNS} from save_several($1::uuid[], $2::jsonb, $3::boolean, $4::jsonb)`

/** Raised by `refuse_too_many`. */
const TOO_MANY = 'P0999'

/** Saves the changes of each workspace, or none of this workspace. Results are in order. */
export const save = async (sql: Sql, requests: readonly SaveRequest[]): Promise<Saved[]> => {
  const workspaceIds = requests.map(({ workspaceId }) => workspaceId)
  const advances = requests.map(({ workspaceId, expected, position, applied, superseded, changes }) => ({
    workspace_id: workspaceId,
    expected,
    position,
    applied,
    superseded,
    feed_rows: countFeedRows(changes),
  }))
  const [query, named] = requests.length === 1 ? [QUERY, workspaceIds[0]!] : [QUERY_SEVERAL, workspaceIds]
  const parameters = [
    named,
    sql.json(advances),
    requests.some(({ waits }) => waits),
    sql.json(rowsByTable(requests) as never),
  ]
  try {
    const rows = await sql.unsafe<{ workspaceId: string; hasMoves: boolean }[]>(query, parameters, { prepare: true })
    const saved = new Map(rows.map(({ workspaceId, hasMoves }) => [workspaceId, hasMoves]))
    return workspaceIds.map((id) => {
      const hasMoves = saved.get(id)
      return hasMoves === undefined ? { outcome: 'busy' } : { outcome: 'saved', hasMoves }
    })
  } catch (error) {
    if (requests.length > 1 || !isTooMany(error)) throw error
    return [{ outcome: 'too-many', profiles: error.detail.split('\n').map(readTooMany) }]
  }
}

/**
 * The rows as `save` reads them: an array for each table with changes. A row of the change feed has
 * its change position as a difference to the last one of its workspace in this save: 0 or less.
 */
const rowsByTable = (requests: readonly SaveRequest[]): Record<string, object[]> => {
  const rows: Record<string, object[]> = {}
  for (const { workspaceId: workspace_id, changes } of requests) {
    let position = 1 - countFeedRows(changes)
    // The rows belong to this save, so they need no copies.
    for (const table of FEED_TABLES)
      for (const row of changes[table]) Object.assign(row, { change_position: position++ })
    for (const [table, own] of Object.entries(changes)) {
      if (own.length === 0) continue
      for (const row of own) Object.assign(row, { workspace_id })
      rows[table] = rows[table] === undefined ? own : [...rows[table], ...own]
    }
  }
  return rows
}

const countFeedRows = (changes: Changes): number => FEED_TABLES.reduce((sum, table) => sum + changes[table].length, 0)

const isTooMany = (error: unknown): error is { code: string; detail: string } =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === TOO_MANY && 'detail' in error

const readTooMany = (line: string): { kind: 'contact' | 'account'; id: string } => {
  const [kind, id] = line.split(' ')
  return { kind: kind as 'contact' | 'account', id: id! }
}
