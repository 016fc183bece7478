import type { JsonObject, JsonValue } from '../contract/json.ts'

// What the fold knows of the rows in Postgres. `load` in db/apply/load.ts reads it.

/**
 * A stored contact or account. `columns`: those with a value, by name. `number`: the number at
 * acceptance of the newest submission that changed it; `first`: the number of the first one.
 * `updatedAt`: its `source_updated_at`, in microseconds since 1970. `properties`: all metadata, if
 * the key asked for it. `isLeftOut`: the key asked for it, but the load had too much of it.
 */
export type StoredProfile = {
  id: string
  columns: Readonly<Record<string, JsonValue>>
  accountId?: string | null
  first: number
  number: number
  updatedAt: number | null
  properties: JsonObject | null
  isLeftOut: boolean
}

/** The number at acceptance of the newest correction of each member. */
export type CorrectionNumbers = { readonly [member: string]: number }

/** A key with its stored data. Keys that nothing has are absent. */
export type StoredRow =
  /**
   * An external id of a contact in one of its sources. `number`: of the submission with which it
   * appeared.
   */
  | { kind: 'contactExternalId'; key: string; source: string; number: number; id: string; profile?: StoredProfile }
  /**
   * The contact that an email means. `isClaimed`: an identify has claimed the email, in the
   * submission with this number.
   */
  | { kind: 'email'; key: string; isClaimed: boolean; number: number; profile: StoredProfile }
  /** A contact by its own id or an alias. */
  | { kind: 'contact'; key: string; profile: StoredProfile }
  | { kind: 'accountExternalId'; key: string; id: string; profile?: StoredProfile }
  | { kind: 'domain'; key: string; isClaimed: boolean; profile: StoredProfile }
  /** `domain`: the name means the account of this domain, and has its claim. */
  | { kind: 'accountName'; key: string; isClaimed: boolean; domain?: string; profile: StoredProfile }
  | { kind: 'account'; key: string; profile: StoredProfile }
  | { kind: 'project'; key: string }
  /** `number`, here and below: the number at acceptance of the newest submission that wrote it. */
  | { kind: 'feedback'; key: string; number: number; corrected?: CorrectionNumbers }
  | { kind: 'theme'; key: string; edited?: CorrectionNumbers }
  /** `version`: the latest `updatedAt` of its submissions, in microseconds since 1970. */
  | { kind: 'conversation'; key: string; number: number; version?: number }
  | { kind: 'message'; key: string; number: number; version?: number }
  /** How often the key was purged. */
  | { kind: 'epoch'; key: string; epoch: number }
  /** `isQueued`: the submission waits to be applied again. */
  | { kind: 'receipt'; key: string; isQueued: boolean }

export type KeyKind = StoredRow['kind']
export type StoredRowOf<K extends KeyKind> = Extract<StoredRow, { kind: K }>

/**
 * What a stride needs of the contact or account of a key. Without a flag, the key alone is enough
 * where it is an external id, and metadata stays unloaded.
 */
export type Need = {
  /** The columns, for an external id. Other keys always bring them. */
  profile?: true
  /** All metadata. */
  metadata?: true
  /** All metadata if no identify has claimed the key: the contact or account may be absorbed. */
  absorbs?: true
  /** Metadata is not left out, however much it is. For own ids only. */
  ofAnySize?: true
}

/** The keys that a stride names, by kind. */
export type WantedKeys = { readonly [K in KeyKind]: ReadonlyMap<string, Need> }

/** The stored state of a workspace, as far as a stride needs it. */
export type StoredState = {
  /** The position of the workspace; undefined if it is deleted. */
  position: number | undefined
  /** A save has left records to move. */
  hasMoves: boolean
  /** Records of a decided purge still have to be removed. */
  isRemoving: boolean
  /** Keys can have epochs. */
  hadPurges: boolean
  rows: readonly StoredRow[]
}
