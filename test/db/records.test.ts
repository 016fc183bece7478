import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, describe, it } from 'node:test'
import type { Column, RecordTable } from '../../contract/records/columns.ts'
import { TABLES } from '../../contract/records/tables.ts'
import { putKeysSql, putSql, readSql } from '../../db/records/records-sql.ts'
import { freshSchema } from '../support/schema.ts'

const { sql, drop } = await freshSchema()
after(drop)

describe('the description of records', () => {
  it('gives the generated files in db/functions: run `npm run records`', () => {
    const text = (name: string): string => readFileSync(new URL(`../../db/functions/${name}`, import.meta.url), 'utf8')
    assert.equal(text('records-put.sql'), putSql())
    assert.equal(text('keys-put.sql'), putKeysSql())
    assert.equal(text('records-read.sql'), readSql())
  })

  it('has all columns of its tables and views, with their types and keys', async () => {
    const columns = await sql<{ table: string; column: string; isKey: boolean }[]>`
      select c.relname as table, coalesce(a.attnum = any (k.conkey), false) as "isKey",
        a.attname || ' ' || replace(format_type(a.atttypid, null), 'timestamp with time zone', 'timestamptz') as column
      from pg_attribute as a join pg_class as c on c.oid = a.attrelid
      left join pg_constraint as k on k.conrelid = c.oid and k.contype = 'p'
      where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'v') and a.attnum > 0 and not a.attisdropped
        and a.attname not in ('workspace_id', 'change_position')`
    const columnsOf = (table: string) => columns.flatMap((each) => (each.table === table ? each.column : [])).toSorted()
    for (const [table, described] of Object.entries(TABLES as Readonly<Record<string, RecordTable>>)) {
      const own = namesOf(described, ({ isOfView }) => !isOfView)
      assert.deepEqual(columnsOf(table), own, table)
      const keys = columns.flatMap((each) => (each.table === table && each.isKey ? each.column.split(' ')[0]! : []))
      assert.deepEqual(keys.toSorted(), [...described.key].toSorted(), table)
      if (described.view === undefined) continue
      const inView = columnsOf(described.view)
      const read = namesOf(described, (column) => column.read !== undefined)
      assert.deepEqual(
        read.filter((column) => !inView.includes(column)),
        [],
        described.view,
      )
    }
  })
})

const namesOf = ({ columns }: RecordTable, isWanted: (column: Column) => boolean): string[] =>
  Object.entries(columns)
    .flatMap(([name, column]) => (isWanted(column) ? `${name} ${column.type}` : []))
    .toSorted()
