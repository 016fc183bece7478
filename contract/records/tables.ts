import { postgresDateTime } from '../date-time.ts'
import { ALERTS } from './alerts.ts'
import type { ColumnTypes, RecordTable } from './columns.ts'
import { KEYS } from './keys.ts'
import { MEANINGS } from './meanings.ts'
import { PROFILES } from './profiles.ts'
import { SOURCES } from './sources.ts'
import { TEXTS } from './texts.ts'

// Each stored record is described once: in this folder. From the description follow the types of
// rows, the SQL that writes and reads them (db/functions/records-*.sql), the reference of reads,
// and the columns that the fold copies and the import knows. The tables are in db/migrations/.

export const TABLES = { ...PROFILES, ...TEXTS, ...MEANINGS, ...ALERTS, ...SOURCES, ...KEYS } as const

export type TableName = keyof typeof TABLES

type ColumnsOf<T extends TableName> = (typeof TABLES)[T]['columns']
type ValueOf<C> = C extends { type: infer T extends keyof ColumnTypes } ? ColumnTypes[T] : never
type Absent<C> = C extends { isOptional: true } ? true : false
type IsOptionalInRow<C> = C extends { isOfView: true } ? false : Absent<C>

/** A row that `save` writes. Where a table merges, null clears a column. */
export type RowOf<T extends TableName> = {
  -readonly [K in keyof ColumnsOf<T> as Absent<ColumnsOf<T>[K]> extends true ? never : K]: ValueOf<ColumnsOf<T>[K]>
} & {
  -readonly [K in keyof ColumnsOf<T> as IsOptionalInRow<ColumnsOf<T>[K]> extends true ? K : never]?:
    ValueOf<ColumnsOf<T>[K]> | null | undefined
}

/** Whether each answer with the record has the member. */
type IsAlways<C> = C extends { isAlwaysRead: infer Flag } ? Flag : Absent<C> extends true ? false : true
type ReadName<C, Always> = C extends { read: infer Name extends string }
  ? IsAlways<C> extends Always
    ? Name
    : never
  : never

/** A record as reads answer it, without its joined members. */
export type ReadRecord<T extends TableName> = {
  -readonly [K in keyof ColumnsOf<T> as ReadName<ColumnsOf<T>[K], true>]: ValueOf<ColumnsOf<T>[K]>
} & {
  -readonly [K in keyof ColumnsOf<T> as ReadName<ColumnsOf<T>[K], false>]?: ValueOf<ColumnsOf<T>[K]>
}

type GivenColumn<T extends TableName> = {
  [K in keyof ColumnsOf<T>]: ColumnsOf<T>[K] extends { given: string } ? K : never
}[keyof ColumnsOf<T>]

/** The columns of a submitted record that are stored as they are given. */
export const givenColumns = <T extends TableName>(
  table: T,
  record: Readonly<Record<string, unknown>>,
): Pick<RowOf<T>, GivenColumn<T> & keyof RowOf<T>> => {
  const row: Record<string, unknown> = {}
  for (const [column, { member, isTime }] of GIVEN[table]!) {
    const value = record[member]
    if (value != null) row[column] = isTime ? postgresDateTime(value as string) : value
  }
  return row as Pick<RowOf<T>, GivenColumn<T> & keyof RowOf<T>>
}

const GIVEN = Object.fromEntries(
  Object.entries(TABLES as Readonly<Record<string, RecordTable>>).map(([table, { columns }]) => [
    table,
    Object.entries(columns).flatMap(([column, { given, type }]) =>
      given === undefined ? [] : [[column, { member: given, isTime: type === 'timestamptz' }] as const],
    ),
  ]),
)
