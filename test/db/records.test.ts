import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, describe, it } from 'node:test'
import { TABLES } from '../../contract/records/tables.ts'
import { putSql, readSql } from '../../db/records/records-sql.ts'
import { freshSchema } from '../support/schema.ts'

const { sql, drop } = await freshSchema()
after(drop)

describe('the description of records', () => {
  it('gives the generated files in db/functions: run `npm run records`', () => {
    const text = (name: string): string => readFileSync(new URL(`../../db/functions/${name}`, import.meta.url), 'utf8')
    assert.equal(text('records-put.sql'), putSql())
    assert.equal(text('records-read.sql'), readSql())
  })

  it('has all columns of its tables, with their types and keys', async () => {
    const columns = await sql<{ table: string; column: string; type: string; isKey: boolean }[]>`
      select c.relname as table, a.attname as column, format_type(a.atttypid, null) as type,
        coalesce(a.attnum = any (k.conkey), false) as "isKey"
      from pg_attribute as a join pg_class as c on c.oid = a.attrelid
      left join pg_constraint as k on k.conrelid = c.oid and k.contype = 'p'
      where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
        and a.attname not in ('workspace_id', 'change_position')`
    for (const [table, { key, columns: described }] of Object.entries(TABLES)) {
      const own = columns.filter((column) => column.table === table)
      assert.deepEqual(
        own
          .map(({ column, type }) => `${column} ${type.replace('timestamp with time zone', 'timestamptz')}`)
          .toSorted(),
        Object.entries(described)
          .map(([column, { type }]) => `${column} ${type}`)
          .toSorted(),
        table,
      )
      assert.deepEqual(own.flatMap(({ column, isKey }) => (isKey ? column : [])).toSorted(), [...key].toSorted(), table)
    }
  })
})
