import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { type Functions, readFunctions } from '../../../db/schema/functions.ts'
import { isMigrated, migrate, MigrationRefused, readMigrations } from '../../../db/schema/migrate.ts'
import { createReader, dropReader } from '../../../db/schema/readers.ts'
import { connectPostgres, type Sql } from '../../../db/connection/postgres.ts'
import { emptySchema, type TestSchema, withOtherConnection } from '../../support/schema.ts'
import { testServers } from '../../support/servers.ts'

const CONNECTIONS = 5
/** The migrations of this version. */
const KNOWN = await readMigrations()
const schemas: TestSchema[] = []
after(() => Promise.all(schemas.map((schema) => schema.drop())))

const empty = async (): Promise<TestSchema> => {
  const schema = await emptySchema(CONNECTIONS)
  schemas.push(schema)
  return schema
}
const migrated = async (): Promise<TestSchema> => {
  const schema = await empty()
  await migrate(schema.sql, KNOWN)
  return schema
}
const functionsApplied = async (): Promise<string> => `functions of ${(await readFunctions()).version}`
const withVersion = async (version: string, more = ''): Promise<Functions> => {
  const { text } = await readFunctions()
  return { version, checksum: `of ${version} ${more}`, text: `${text}\n${more}` }
}

describe('migrations', () => {
  // Numbers that no migration of the repository has.
  const next = { number: 9998, name: '9998_more.sql', text: 'create table more (id uuid primary key)' }

  it('are applied once', async () => {
    const { sql } = await migrated()
    assert.deepEqual(await migrate(sql, KNOWN), [])
    assert.ok(await isMigrated(sql, KNOWN))
    assert.deepEqual(await migrate(sql, [...KNOWN, next]), [next.name])
  })

  it('are missing in an empty database', async () => {
    const { sql } = await empty()
    assert.ok(!(await isMigrated(sql, KNOWN)))
  })

  it('are applied once by processes that migrate at the same time', async () => {
    const { sql } = await empty()
    const all = await Promise.all(Array.from({ length: CONNECTIONS }, () => migrate(sql, KNOWN)))
    assert.deepEqual(all.flat().toSorted(), [...KNOWN.map(({ name }) => name), await functionsApplied()].toSorted())
  })

  it('that fail leave no changes, not even of the migrations before them in the same run', async () => {
    const { sql } = await migrated()
    const before = await catalogueText(sql)
    const broken = {
      number: 9999,
      name: '9999_broken.sql',
      text: 'create table further (id int); select nothing from nowhere',
    }
    await assert.rejects(migrate(sql, [...KNOWN, next, broken]), /nowhere/)
    assert.equal(await catalogueText(sql), before)
  })

  it('are refused with shards if the database lacks Citus', async () => {
    const { sql } = await migrated()
    await assert.rejects(
      migrate(sql, KNOWN, { shards: 2 }),
      (error) =>
        error instanceof MigrationRefused && /CITUS_SHARDS is set, but .* `create extension citus`/.test(error.message),
    )
    assert.deepEqual(await migrate(sql, KNOWN), [])
  })

  it('of a newer version make an older version refuse, but a running process continues', async () => {
    const { sql } = await migrated()
    await migrate(sql, [...KNOWN, next])
    await assert.rejects(
      migrate(sql, KNOWN),
      (error) =>
        error instanceof MigrationRefused &&
        /at migration 9998, this version knows \d+\. Start a newer/.test(error.message),
    )
    assert.ok(await isMigrated(sql, KNOWN), 'a running older version may continue')
  })

  it('that were changed after they were applied are refused by name', async () => {
    const { sql } = await migrated()
    const [baseline, ...later] = KNOWN
    await assert.rejects(
      migrate(sql, [{ ...baseline!, text: `${baseline!.text}\ncreate table more (id int);` }, ...later]),
      (error) =>
        error instanceof MigrationRefused &&
        /^The text of migration 1 \(0001_1_workspaces\.sql, .* differs/.test(error.message),
    )
  })

  it('are not held up by the locks of a role that may only read', async () => {
    const { sql, name } = await migrated()
    const role = `r_${name}`
    const password = await createReader(sql, role)
    const url = new URL(testServers().databaseUrl)
    Object.assign(url, { username: role, password })
    const options = {
      connections: 1,
      statementTimeoutMs: 60_000,
      applicationName: 'test',
      schema: name,
      isReadOnly: true,
    }
    const reader: Sql = connectPostgres(url.href, options)
    try {
      await reader`select pg_advisory_lock_shared(n) from generate_series(1, 10) as n`
      await assert.rejects(
        reader.unsafe('do $$ begin lock table schema_migration in access share mode; end $$'),
        /permission denied/,
      )
      await assert.rejects(reader`select from schema_migration for update`, /permission denied|read-only/)
      assert.deepEqual(await migrate(sql, [...KNOWN, next]), [next.name])
    } finally {
      await reader.end({ timeout: 5 })
      await dropReader(sql, role)
    }
  })

  it('wait for another process that migrates, and then run', async () => {
    const { sql, name } = await migrated()
    await withOtherConnection(name, 60_000, async (other) => {
      await other.unsafe('begin; lock table schema_migration in exclusive mode')
      const ours = migrate(sql, [...KNOWN, next])
      // Reads do not wait for this lock.
      assert.ok(await isMigrated(sql, KNOWN))
      await other.unsafe('commit')
      assert.deepEqual(await ours, [next.name])
    })
  })
})

describe('functions of a database', () => {
  it('are repaired when one was edited or dropped by hand', async () => {
    const { sql } = await migrated()
    const right = await catalogueText(sql)
    for (const statement of [
      'create or replace function category_id(ws uuid, title text) returns uuid language sql as $$ select ws $$',
      'drop function forget_oldest',
      'alter function store_tags set enable_seqscan = on',
    ]) {
      await sql.unsafe(statement)
      assert.notEqual(await catalogueText(sql), right)
      assert.deepEqual(await migrate(sql, KNOWN), [await functionsApplied()])
      assert.equal(await catalogueText(sql), right)
    }
  })

  it('of a newer release stay, and an older release runs with them', async () => {
    const { sql } = await migrated()
    const newer = await withVersion(
      '1.10.0',
      `create or replace function category_id(ws uuid, title text) returns uuid
        language sql immutable strict parallel safe as $$ select md5(title)::uuid $$;`,
    )
    assert.deepEqual(await migrate(sql, KNOWN, { functions: Promise.resolve(newer) }), ['functions of 1.10.0'])
    const changed = await catalogueText(sql)
    assert.deepEqual(await migrate(sql, KNOWN), [])
    assert.deepEqual(await migrate(sql, KNOWN, { functions: withVersion('1.9.9') }), [])
    assert.equal(await catalogueText(sql), changed)
    assert.ok(await isMigrated(sql, KNOWN))
  })

  it('of an older release are replaced', async () => {
    const { sql } = await migrated()
    await sql`update schema_functions set version = '0.9.0', checksum = 'another'`
    assert.ok(!(await isMigrated(sql, KNOWN)))
    assert.deepEqual(await migrate(sql, KNOWN), [await functionsApplied()])
    assert.ok(await isMigrated(sql, KNOWN))
  })

  it('are applied completely or not at all', async () => {
    const { sql } = await migrated()
    const former = await catalogueText(sql)
    const broken = withVersion('2.0.0', 'drop function category_id; select nothing from nowhere;')
    await assert.rejects(migrate(sql, KNOWN, { functions: broken }), /nowhere/)
    assert.equal(await catalogueText(sql), former)
    assert.deepEqual(await migrate(sql, KNOWN), [])
  })
})

/** The columns, indexes, constraints, views and functions of a schema, as text. */
const catalogueText = async (sql: Sql): Promise<string> => {
  const [{ name }] = await sql<[{ name: string }]>`select current_schema() as name`
  const rows = await sql<{ text: string }[]>`
    select concat_ws(' ', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attstattarget, a.attstorage,
      pg_get_expr(d.adbin, d.adrelid)) as text
    from pg_attribute as a join pg_class as c on c.oid = a.attrelid
    left join pg_attrdef as d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p', 'v') and a.attnum > 0 and not a.attisdropped
    union all
    select pg_get_indexdef(x.indexrelid) from pg_index as x join pg_class as c on c.oid = x.indrelid
    where c.relnamespace = current_schema()::regnamespace
    union all
    select conname || ' ' || pg_get_constraintdef(oid) from pg_constraint where connamespace = current_schema()::regnamespace
    union all
    select relname || ' ' || pg_get_viewdef(oid) from pg_class
    where relnamespace = current_schema()::regnamespace and relkind = 'v'
    union all
    select pg_get_functiondef(oid) from pg_proc where pronamespace = current_schema()::regnamespace and prokind in ('f', 'p')
    order by 1`
  return rows.map(({ text }) => text.replaceAll(`${name}.`, '')).join('\n')
}

describe('dropping a reader', () => {
  it('refuses a role that owns a table', async () => {
    const { sql, name } = await migrated()
    const role = `o_${name}`
    await sql.unsafe(`
      create role ${role};
      grant ${role} to current_user;
      grant create on schema ${name} to ${role};
      alter default privileges for role ${role} grant select on tables to current_user;
      alter table feedback owner to ${role}`)
    assert.equal(await dropReader(sql, role), 'owner')
    await sql.unsafe(`
      alter table feedback owner to current_user;
      revoke create on schema ${name} from ${role}`)
    assert.deepEqual([await dropReader(sql, role), await dropReader(sql, role)], ['dropped', 'unknown'])
  })
})
