import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readSourceFiles } from '../../tools/source-files.ts'
import { freshSchema, type TestSchema } from '../support/schema.ts'

const FUNCTION = /^create or replace function (\w+)\((?:(?!\$\$)[^;])*(?:\$\$[\s\S]*?\$\$)?;$/gm

/** Tables of the whole installation, each with the reason why it does not grow with submissions. */
const OF_THE_INSTALLATION: Readonly<Record<string, string>> = {
  workspace: 'a row for each workspace; found by its name as well',
  deleted_workspace: 'a row for each workspace that an operator deleted',
  token: 'a row for each token; found by its hash, before its workspace is known',
  installation: 'one row',
  schema_migration: 'a row for each migration',
  schema_functions: 'one row',
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const sources = readSourceFiles(root).filter(({ path }) => !path.startsWith('test/'))

/** The texts of the SQL files of a folder. */
const sqlIn = (folder: string): string[] =>
  readdirSync(join(root, 'db', folder))
    .filter((file) => file.endsWith('.sql'))
    .map((file) => readFileSync(join(root, 'db', folder, file), 'utf8'))

describe('the text of SQL', () => {
  const [functions, migrations] = [sqlIn('functions'), sqlIn('migrations')]

  it('has each function once, and no unused function', () => {
    const names = functions.flatMap((text) => [...text.matchAll(FUNCTION)].map(([, name = '']) => name))
    assert.equal(new Set(names).size, names.length)
    const callers = [...functions, ...migrations, ...sources.map(({ text }) => text)].join('\n')
    const uncalled = names.filter(
      (name) => [...callers.matchAll(new RegExp(String.raw`\b${name}\b\(`, 'g'))].length < 2,
    )
    assert.deepEqual(uncalled, [])
  })

  it('has only `create or replace function` in db/functions, so that each file can be applied again', () => {
    for (const text of functions) {
      const rest = text.replaceAll(FUNCTION, '').replaceAll(/^\s*--.*$/gm, '')
      assert.equal(rest.trim(), '')
    }
  })

  it('uses no `ctid` and no `row (…)`: rows are named by keys, and values by columns', () => {
    for (const text of [...functions, ...migrations]) assert.doesNotMatch(text, /\bctid\b|\brow ?\(/i)
    const withCtid = sources.filter(({ path, text }) => path.startsWith('db/') && /\bctid\b/.test(text))
    assert.deepEqual(withCtid, [])
  })

  it('compares no workspace with `is not distinct from`, which no index can serve', () => {
    for (const text of functions) assert.doesNotMatch(text, /workspace_id is not distinct/)
  })
})

type Column = { table: string; isUuid: boolean; isRequired: boolean }
type Index = { table: string; name: string; isPrimary: boolean; first: string | null }

describe('the schema', () => {
  let schema: TestSchema
  let tables: string[]
  let indexes: Index[]
  before(async () => {
    schema = await freshSchema()
    const found = await schema.sql<{ name: string }[]>`
      select relname as name from pg_class
      where relkind in ('r', 'p') and not relispartition and relnamespace = ${schema.name}::regnamespace`
    tables = found.map(({ name }) => name).filter((name) => !(name in OF_THE_INSTALLATION))
    indexes = await schema.sql<Index[]>`
      select t.relname as table, i.relname as name, x.indisprimary as "isPrimary", a.attname as first
      from pg_index as x
      join pg_class as t on t.oid = x.indrelid
      join pg_class as i on i.oid = x.indexrelid
      left join pg_attribute as a on a.attrelid = t.oid and a.attnum = x.indkey[0]
      where t.relnamespace = ${schema.name}::regnamespace and t.relname = any (${tables}::text[])
      order by i.relname`
  })
  after(() => schema?.drop())

  it('has a required `workspace_id` of the type uuid in each table that grows', async () => {
    const columns = await schema.sql<Column[]>`
      select c.relname as table, a.atttypid = 'uuid'::regtype as "isUuid", a.attnotnull as "isRequired"
      from pg_class as c join pg_attribute as a on a.attrelid = c.oid and a.attname = 'workspace_id'
      where c.relnamespace = ${schema.name}::regnamespace and c.relname = any (${tables}::text[])`
    const fit = columns.filter(({ isUuid, isRequired }) => isUuid && isRequired).map(({ table }) => table)
    assert.deepEqual(fit.toSorted(), tables.toSorted())
  })

  it('has a primary key in each table that grows, and each index begins with the workspace', () => {
    const keyed = indexes.filter(({ isPrimary }) => isPrimary).map(({ table }) => table)
    assert.deepEqual(keyed.toSorted(), tables.toSorted())
    assert.deepEqual(
      indexes.filter(({ first }) => first !== 'workspace_id'),
      [],
    )
  })

  it('has no foreign key from or to a table that grows', async () => {
    const keys = await schema.sql`
      select conname from pg_constraint
      where contype = 'f' and connamespace = ${schema.name}::regnamespace
        and (conrelid = any (select oid from pg_class where relname = any (${tables}::text[]))
          or confrelid = any (select oid from pg_class where relname = any (${tables}::text[])))`
    assert.equal(keys.count, 0)
  })

  it('has no triggers', async () => {
    const triggers = await schema.sql`
      select tgname from pg_trigger as g join pg_class as c on c.oid = g.tgrelid
      where c.relnamespace = ${schema.name}::regnamespace and not g.tgisinternal`
    assert.equal(triggers.count, 0)
  })

  it('has settings of the planner at every function that reads tables and that TypeScript calls', async () => {
    const called = new Set(
      sources
        .filter(({ path }) => path.startsWith('db/'))
        .flatMap(({ text }) => [...text.matchAll(/\b(\w+)\(/g)].map(([, name = '']) => name)),
    )
    const functions = await schema.sql<{ name: string }[]>`
      select proname as name from pg_proc
      where pronamespace = ${schema.name}::regnamespace and proconfig is null and prosrc ~ 'workspace_id'`
    const without = functions.map(({ name }) => name).filter((name) => called.has(name))
    assert.deepEqual(without, [])
  })
})
