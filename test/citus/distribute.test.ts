import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { migrate, readMigrations } from '../../db/schema/migrate.ts'
import { readRecords } from '../../db/reads/records.ts'
import { createWorkspace } from '../../db/workspaces/workspaces.ts'
import { turnToCitus } from '../support/citus.ts'
import { emptySchema, type TestSchema, testShards } from '../support/schema.ts'

const MIGRATIONS = await readMigrations()
const FEEDBACK = 20

const reason = await turnToCitus()
const title = 'a database with Citus'

const describeAll = () => {
  let schema: TestSchema
  let workspaceIds: string[]
  before(async () => {
    schema = await emptySchema(1)
    await migrate(schema.sql, MIGRATIONS)
    workspaceIds = []
    for (const name of ['one', 'two', 'three']) workspaceIds.push((await createWorkspace(schema.sql, name))!.id)
    for (const workspaceId of workspaceIds) await addFeedback(workspaceId)
  })
  after(() => schema.drop())

  const addFeedback = async (workspaceId: string): Promise<void> => {
    for (let at = 1; at <= FEEDBACK; at++) {
      await schema.sql`
        insert into feedback (workspace_id, id, description, tags_generated, source, number, first_number, change_position)
        values (${workspaceId}, ${randomUUID()}, 'slow', false, 'API', ${at}, ${at}, ${at})`
    }
  }
  const migrateAgain = (): Promise<string[]> => migrate(schema.sql, MIGRATIONS, { shards: testShards() })

  it('stays on one server as long as nothing asks for shards', async () => {
    assert.deepEqual(await migrate(schema.sql, MIGRATIONS), [])
    const distributed = await schema.sql`
      select from pg_dist_partition as d join pg_class as c on c.oid = d.logicalrelid
      where c.relnamespace = ${schema.name}::regnamespace`
    assert.equal(distributed.count, 0)
  })

  it('is distributed with its rows, once', async () => {
    assert.match((await migrateAgain()).join(), /^the distribution over the nodes of Citus,functions of /)
    assert.deepEqual(await migrateAgain(), [])
    assert.deepEqual(await migrate(schema.sql, MIGRATIONS), [], 'also without the setting')
    for (const workspaceId of workspaceIds) {
      const ids = await schema.sql<{ id: string }[]>`select id from feedback where workspace_id = ${workspaceId}`
      assert.equal(ids.length, FEEDBACK)
      const names = ids.map(({ id }) => ({ kind: 'feedback', id }) as const)
      assert.ok((await readRecords(schema.sql, workspaceId, names)).every((record) => record?.includes('"slow"')))
    }
  })

  it('has all tables with rows of workspaces on the nodes, each workspace in one place', async () => {
    const kinds = await schema.sql<{ name: string; kind: string; group: number }[]>`
      select c.relname as name, d.colocationid as group,
        case when d.partmethod = 'h' then 'distributed' when d.repmodel = 't' then 'reference' end as kind
      from pg_dist_partition as d join pg_class as c on c.oid = d.logicalrelid
      where c.relnamespace = ${schema.name}::regnamespace`
    const owned = await schema.sql<{ name: string }[]>`
      select distinct a.attrelid::regclass::text as name from pg_attribute as a join pg_class as c on c.oid = a.attrelid
      where c.relnamespace = ${schema.name}::regnamespace and c.relkind = 'r' and a.attname = 'workspace_id' and c.relname <> 'token'`
    const distributed = kinds.filter(({ kind }) => kind === 'distributed')
    assert.deepEqual(distributed.map(({ name }) => name).toSorted(), owned.map(({ name }) => name).toSorted())
    assert.equal(new Set(distributed.map(({ group }) => group)).size, 1)
    const everywhere = kinds.filter(({ kind }) => kind === 'reference').map(({ name }) => name)
    assert.deepEqual(everywhere.toSorted(), ['deleted_workspace', 'workspace'])
  })

  it('runs the functions of a workspace on its node, with this schema, in UTC, and without generic plans', async () => {
    const functions = await schema.sql<{ name: string; settings: string[]; argument: number | null }[]>`
      select p.proname as name, p.proconfig as settings, o.distribution_argument_index as argument
      from pg_proc as p left join pg_dist_object as o on o.classid = 'pg_proc'::regclass and o.objid = p.oid
      where p.pronamespace = ${schema.name}::regnamespace and p.proconfig is not null and p.proargnames[1] = 'ws'
        and p.proargtypes[0] = 'uuid'::regtype`
    assert.ok(functions.some(({ name }) => name === 'read_changes'))
    for (const { name, settings, argument } of functions) {
      assert.equal(argument, 0, name)
      assert.ok(settings.includes(`search_path=${schema.name}`) && settings.includes('TimeZone=UTC'), name)
      assert.ok(!settings.includes('plan_cache_mode=force_generic_plan'), name)
    }
  })

  it('gets the tables, columns and functions of later versions', async () => {
    const next = {
      number: MIGRATIONS.length + 1,
      name: '0002_channel.sql',
      text: 'alter table feedback add column channel text;',
    }
    assert.deepEqual(await migrate(schema.sql, [...MIGRATIONS, next]), [next.name])
    await schema.sql`create or replace function microseconds_now() returns bigint language sql return 1`
    assert.match((await migrate(schema.sql, [...MIGRATIONS, next])).join(), /^functions of /)
    const [{ settings }] = await schema.sql<[{ settings: string[] }]>`
      select proconfig as settings from pg_proc where oid = 'read_changes'::regproc`
    assert.ok(settings.includes(`search_path=${schema.name}`))
    const rows = await schema.sql`select channel from feedback`
    assert.equal(rows.length, workspaceIds.length * FEEDBACK)
  })
}

if (reason === undefined) describe(title, describeAll)
else it(`${title}: not tested, since ${reason}`, { skip: true }, () => {})
