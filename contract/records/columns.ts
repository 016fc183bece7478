import type { JsonObject } from '../json.ts'

// Each stored record is described once: here. From this description follow the types of rows, the
// SQL that writes them (`npm run records` makes db/functions/records-*.sql), the JSON of reads and
// its reference, and the columns that the fold copies and the import knows. The tables themselves
// are in db/migrations/.

/** The types of columns, and the types of their values in JSON. */
export type ColumnTypes = {
  uuid: string
  text: string
  'text[]': string[]
  '"char"': string
  boolean: boolean
  integer: number
  bigint: number
  'double precision': number
  numeric: number
  timestamptz: string
  jsonb: JsonObject
}

export type Column = {
  type: keyof ColumnTypes
  /** A row can be without a value. */
  isOptional?: boolean
  /** The name in reads, and the description in their reference. */
  read?: string
  about?: string
  /** Whether each answer with the record has the member. By default, unless `isOptional`. */
  isAlwaysRead?: boolean
  /** The member of the submitted record that the fold copies as it is given. */
  given?: string
  /**
   * Where a row exists: `keep` keeps the stored value, `greatest` and `least` choose one, and `sum`
   * adds. By default, the new row has the value. In a table that merges, an absent member keeps the stored
   * value, `members` adds to the stored object, `newest` compares the numbers at acceptance, and
   * `listed` keeps the number of the first save.
   */
  stored?: 'keep' | 'greatest' | 'least' | 'sum' | 'members' | 'newest' | 'listed'
  /**
   * The member of a correction that sets the column. Where a person has set it, a replacement keeps
   * the value, and `uncorrected` gets what the source sends.
   */
  correctedBy?: string
  /**
   * What a replacement clears of a column that is written elsewhere: `always`, or only together with a
   * changed text. What a person has set stays.
   */
  clears?: 'always' | 'with text'
  /** Postgres or other code writes the column, and `save` does not. */
  isWrittenElsewhere?: true
  /** Only the view of the table has the column. */
  isOfView?: true
}

/**
 * `onConflict`: what a row does where one with its key exists. `merge` writes the members that the
 * row has. `fail` is for rows whose keys are always new. `by hand`: db/functions/save.sql writes
 * the rows.
 */
export type RecordTable = {
  key: readonly string[]
  onConflict: 'replace' | 'merge' | 'ignore' | 'fail' | 'by hand'
  /** The kind in the change feed and in reads. */
  kind?: string
  /** The view that reads take the record from, with all columns that they show. */
  view?: string
  about?: string
  columns: Readonly<Record<string, Column>>
  /** Members of reads from other tables: SQL functions of the workspace and the id. */
  joined?: Readonly<Record<string, { sql: string; about: string }>>
}

export const uuid = { type: 'uuid' } as const
export const text = { type: 'text' } as const
export const flag = { type: 'boolean' } as const
export const number = { type: 'bigint' } as const
export const time = { type: 'timestamptz' } as const
export const object = { type: 'jsonb' } as const
export const optional = { isOptional: true } as const
export const elsewhere = { isOptional: true, isWrittenElsewhere: true } as const
export const ofView = { ...elsewhere, isOfView: true } as const

export const id = { ...uuid, read: 'id', about: 'Own id.' } as const
/** In reads, the first and the last submission of a record are times. */
export const createdAt = { ...time, ...elsewhere, read: 'createdAt' } as const
export const updatedAt = { ...time, ...elsewhere, read: 'updatedAt' } as const
export const newestNumber = { ...number, ...optional } as const
/** A replacement clears the version, so the tagger reads the record again. */
export const taggerVersion = { type: 'integer', ...optional } as const
