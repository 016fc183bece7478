import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { Sql } from '../connection/postgres.ts'

/** The levels of a key: how much of its contact or account a stride needs. */
export const KEY = 0
/**
 * For a contact or account by external id: also its columns. All other keys return these always.
 */
export const PROFILE = 1
/** For a weak key: everything about an anonymous contact or account, since it may be absorbed. */
export const WHOLE_IF_ANONYMOUS = 1
export const WHOLE = 2
/**
 * Everything, of any size. At lower levels, large metadata is left out to bound the memory of a
 * stride.
 */
export const WHOLE_IF_LARGE = 3

/** Kinds of keys, in the order of the parameters of `load_keys`. */
const KINDS = [
  'contactKey',
  'email',
  'contact',
  'accountKey',
  'domain',
  'accountName',
  'account',
  'project',
  'feedback',
  'conversation',
  'message',
  'epoch',
  'receipt',
] as const
export type KeyKind = (typeof KINDS)[number]

/** The keys of one workspace by kind, each with its level. */
export type WantedKeys = { readonly workspaceId: string } & {
  readonly [kind in KeyKind]?: ReadonlyMap<string, number>
}

/** A stored contact or account. Columns without a value are absent. */
export type StoredProfile = {
  id: string
  /** The first and the last submission that changed it. */
  first: number
  number: number
  hasAccount: boolean
  columns: Readonly<Record<string, JsonValue>>
  /** All metadata; null if the level does not ask for it. */
  properties: JsonObject | null
}

/**
 * A key and its meaning. `number`: for a key, when it appeared, was claimed or was purged; for a
 * record, its last change. `version`: microseconds since 1970.
 */
export type LoadedRow = { key: string } & (
  | { kind: 'contact_key'; id: string; source: string; number: number; profile: StoredProfile | null }
  | { kind: 'account_key'; id: string; profile: StoredProfile | null }
  | { kind: 'email'; number: number; claimed: boolean; profile: StoredProfile }
  | { kind: 'domain'; claimed: boolean; profile: StoredProfile }
  /** `domain`: the domain that the name is linked to; `claimed` is that of this domain then. */
  | { kind: 'name'; claimed: boolean; domain: string | null; profile: StoredProfile }
  | { kind: 'contact'; profile: StoredProfile }
  | { kind: 'account'; profile: StoredProfile }
  | { kind: 'project'; first: number }
  | { kind: 'feedback'; number: number }
  | { kind: 'conversation'; number: number; version: number | null }
  | { kind: 'message'; number: number; version: number | null }
  | { kind: 'epoch'; epoch: number; number: number }
  | { kind: 'receipt'; isQueued: boolean }
)
export type RowOf<K extends LoadedRow['kind']> = Extract<LoadedRow, { kind: K }>

type Progress = { position: number; hasMoves: boolean; isRemoving: boolean; hadPurges: boolean }
/** The position of the workspace is undefined if it is deleted. */
export type Loaded = Omit<Progress, 'position'> & { position: number | undefined; rows: LoadedRow[] }

const NOTHING = { position: undefined, hasMoves: false, isRemoving: false, hadPurges: false }

const QUERY = `select kind, w, key, found
  from load_keys(($1::text)::uuid[], ${KINDS.map((_, at) => `($${at + 2}::text)::jsonb`).join(', ')})`

/** Loads the stored data of these keys, for each workspace in order. */
export const load = async (sql: Sql, wanted: readonly WantedKeys[]): Promise<Loaded[]> => {
  const workspaces = `{${wanted.map(({ workspaceId }) => workspaceId).join()}}`
  const keys = KINDS.map((kind) => keysText(wanted, kind))
  const rows = await sql.unsafe<{ kind: string; w: number; key: string; found: object }[]>(
    QUERY,
    [workspaces, ...keys],
    { prepare: true },
  )
  const loaded = wanted.map((): Loaded => ({ ...NOTHING, rows: [] }))
  for (const { kind, w, key, found } of rows) {
    const own = loaded[w - 1]!
    if (kind === 'progress') Object.assign(own, found as Progress)
    else own.rows.push({ kind, key, ...found } as LoadedRow)
  }
  return loaded
}

const keysText = (wanted: readonly WantedKeys[], kind: KeyKind): string | null => {
  const keys = wanted.flatMap((own, at) => Array.from(own[kind] ?? [], ([key, want]) => ({ w: at + 1, key, want })))
  return keys.length === 0 ? null : JSON.stringify(keys)
}

/** The sources of an external id: the oldest comes first. */
export const bySourceAge = (a: SourceAge, b: SourceAge): number => a.number - b.number || (a.source < b.source ? -1 : 1)
type SourceAge = { source: string; number: number }
