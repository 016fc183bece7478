import type { KeyKind, Need, StoredProfile, StoredRow, StoredState, WantedKeys } from '../../fold/stored.ts'
import type { Sql } from '../connection/postgres.ts'

export type LoadRequest = { workspaceId: string; keys: WantedKeys }

type KeyRow = { workspace_id: string; key: string } & Need
type WorkspaceProgress = { position: number; hasMoves: boolean; isRemoving: boolean; hadPurges: boolean }
type LoadedRow = {
  workspaceId: string
  found: (StoredRow & { kind: KeyKind }) | ({ kind: 'progress' } & WorkspaceProgress)
  profile: StoredProfile | null
}

const COLUMNS = `select workspace_id as "workspaceId", found, profile`
const QUERY = `${COLUMNS} from load($1::uuid, $2::jsonb)`
const QUERY_SEVERAL = `${COLUMNS} from load_several($1::uuid[], $2::jsonb)`

/** Loads the stored data of keys, for each workspace in order. */
export const load = async (sql: Sql, requests: readonly LoadRequest[]): Promise<StoredState[]> => {
  const workspaceIds = requests.map(({ workspaceId }) => workspaceId)
  const keys = sql.json(keysByKind(requests))
  const [query, named] = requests.length === 1 ? [QUERY, workspaceIds[0]!] : [QUERY_SEVERAL, workspaceIds]
  const rows = await sql.unsafe<LoadedRow[]>(query, [named, keys], { prepare: true })
  const states = new Map(workspaceIds.map((id) => [id, { ...DELETED, rows: [] as StoredRow[] }]))
  for (const { workspaceId, found, profile } of rows) {
    const state = states.get(workspaceId)!
    if (found.kind === 'progress') Object.assign(state, found)
    else state.rows.push(profile === null ? found : Object.assign(found, { profile }))
  }
  return workspaceIds.map((id) => states.get(id)!)
}

const DELETED = { position: undefined, hasMoves: false, isRemoving: false, hadPurges: false }

/** The keys as `load` reads them: an array for each kind that is wanted. */
const keysByKind = (requests: readonly LoadRequest[]): Partial<Record<KeyKind, KeyRow[]>> => {
  const rows: Partial<Record<KeyKind, KeyRow[]>> = {}
  for (const { workspaceId, keys } of requests) {
    for (const [kind, wanted] of Object.entries(keys) as [KeyKind, ReadonlyMap<string, Need>][]) {
      if (wanted.size === 0) continue
      const own = (rows[kind] ??= [])
      for (const [key, need] of wanted) {
        const row: KeyRow = { workspace_id: workspaceId, key }
        own.push(Object.assign(row, need))
      }
    }
  }
  return rows
}
