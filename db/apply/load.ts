import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { Sql } from '../connection/postgres.ts'

/** The levels of a key: how much of its contact or account a stride needs. */
export const KEY = 0
/**
 * For a contact or account by external id: a second row, of kind `contact` or `account`, with the
 * columns that have a value and the version. Other keys of contacts and accounts return these at
 * every level.
 */
export const PROFILE = 1
/**
 * For a weak key: everything about an anonymous contact or account, since it may be absorbed. The
 * same number as `PROFILE`, which weak keys do not need.
 */
export const WHOLE_IF_ANONYMOUS = 1
export const WHOLE = 2
/**
 * Everything, of any size. At `WHOLE`, a contact or account with large metadata has no `whole`,
 * which bounds the memory.
 */
export const WHOLE_OF_ANY_SIZE = 3

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
/** Kinds whose keys are texts. All other keys are ids. */
const TEXT_KINDS: ReadonlySet<KeyKind> = new Set(['email', 'domain', 'accountName'])

/** The keys of one workspace by kind, each with its level. */
export type WantedKeys = { readonly workspaceId: string } & { readonly [kind in KeyKind]: ReadonlyMap<string, number> }

/** All stored data of a contact or account. Columns without a value are absent. */
export type WholeProfile = { first: number; columns: Readonly<Record<string, JsonValue>>; properties: JsonObject }

/** Bits of `presence`: which columns of a contact or account have a value. */
export const PRESENCE: Readonly<Record<string, number>> = {
  name: 1,
  email: 2,
  domain: 2,
  contract_value: 4,
  source_created_at: 8,
  source_updated_at: 16,
  account: 32,
}

/** A key with its stored data. The kinds share columns. */
export type LoadedRow = {
  kind:
    | 'contact_key'
    | 'email'
    | 'contact'
    | 'account_key'
    | 'domain'
    | 'name'
    | 'account'
    | 'project'
    | 'feedback'
    | 'conversation'
    | 'message'
    | 'epoch'
    | 'receipt'
  key: string
  /** Of the contact, account, project or record. */
  id: string
  /** Of a `contact_key`. */
  source: string | null
  /**
   * Of a `contact_key`: when it appeared. Of an `email`: when the contact got or claimed it. Of an
   * `epoch`: the epoch. Of a contact, account, feedback, conversation or message: `newest_number`, or
   * `number` if that is null.
   */
  number: number
  /**
   * Of a `receipt`: whether the submission is queued. Of an `email`, `domain` or `name`: whether an
   * identify has claimed the key, or the domain of the name.
   */
  claimed: boolean
  /** Of a `name`: the domain that it came with. */
  domain: string | null
  /** Bits of `PRESENCE`. */
  presence: number
  /**
   * In microseconds since 1970. Of a contact or account: `source_updated_at`. Of a `conversation`:
   * `latest_version`. Of a `message`: `version`.
   */
  version: number | null
  /**
   * Of a contact or account. Null if the level of the key does not ask for it, or if it is too
   * large for the level.
   */
  whole: WholeProfile | null
}

/** Of a receipt: whether its submission waits to be applied again. */
export const isQueued = ({ claimed }: LoadedRow): boolean => claimed

export type LoadedState = {
  /** The position of the workspace; undefined if it is deleted. */
  position: number | undefined
  hasMoves: boolean
  isRemoving: boolean
  hadPurges: boolean
  rows: LoadedRow[]
}

type Row = (LoadedRow | { kind: 'progress'; number: number; presence: number }) & { w: number }

const ARRAYS = KINDS.flatMap((kind) => ['int', TEXT_KINDS.has(kind) ? 'text' : 'uuid', 'int'])
const QUERY = `select kind, w, key, id, source, number::float8 as number, claimed, domain, presence, version, whole
  from load_keys(($1::text)::uuid[], ${ARRAYS.map((type, at) => `($${at + 2}::text)::${type}[]`).join(', ')})`

/** Loads the stored data of these keys, for each workspace in order. */
export const load = async (sql: Sql, wanted: readonly WantedKeys[]): Promise<LoadedState[]> => {
  const arrays = KINDS.flatMap((kind) => arraysOf(wanted, kind))
  const workspaces = literal(wanted.map(({ workspaceId }) => workspaceId))
  const rows = await sql.unsafe<Row[]>(QUERY, [workspaces, ...arrays], { prepare: true })
  const loaded = wanted.map((): LoadedState => ({
    position: undefined,
    hasMoves: false,
    isRemoving: false,
    hadPurges: false,
    rows: [],
  }))
  for (const row of rows) {
    const own = loaded[row.w - 1]!
    if (row.kind === 'progress') noteProgress(own, row)
    else own.rows.push(row)
  }
  return loaded
}

const HAS_MOVES = 1
const IS_REMOVING = 2
const HAD_PURGES = 4

const noteProgress = (loaded: LoadedState, { number, presence }: { number: number; presence: number }): void => {
  loaded.position = number
  loaded.hasMoves = (presence & HAS_MOVES) !== 0
  loaded.isRemoving = (presence & IS_REMOVING) !== 0
  loaded.hadPurges = (presence & HAD_PURGES) !== 0
}

/**
 * Array literals: the index of the workspace, the key, and its level. The driver's own arrays cost
 * more.
 */
const arraysOf = (wanted: readonly WantedKeys[], kind: KeyKind): string[] => {
  const places: string[] = []
  const keys: string[] = []
  const levels: number[] = []
  for (const [at, own] of wanted.entries()) {
    const place = String(at + 1)
    for (const [key, level] of own[kind]) {
      places.push(place)
      keys.push(TEXT_KINDS.has(kind) ? quote(key) : key)
      levels.push(level)
    }
  }
  return [literal(places), literal(keys), literal(levels)]
}

const literal = (elements: readonly (string | number)[]): string => `{${elements.join()}}`

const quote = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`
