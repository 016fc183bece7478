import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { beginDeletion, deleteOwnedRows, OWNED_TABLES } from '../../db/workspaces/delete-workspace.ts'
import { migrate } from '../../db/schema/migrate.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { applyAll } from '../model/model.ts'
import { submissionHistories, WORKSPACES } from '../model/submission-arbitrary.ts'
import { deliver, schedules } from '../support/deliver.ts'
import {
  emptySchema,
  hashKey,
  makeWorkspaces,
  PARTITIONS,
  partitionedMigrations,
  type TestSchema,
} from '../support/schema.ts'
import { seeded } from '../support/property-seed.ts'
import { clearTables, dumpModel, dumpTables, resetPositions } from '../support/tables.ts'

const HISTORIES = process.env['TEST_SIZE'] === 'long' ? 300 : 8

describe('in a schema that is partitioned by workspace', () => {
  let schema: TestSchema
  let sql: Sql
  before(async () => {
    schema = await emptySchema()
    sql = schema.sql
    await migrate(sql, await partitionedMigrations())
    await makeWorkspaces(sql, WORKSPACES)
  })
  after(() => schema.drop())

  it('all migrations run, and every table that grows is partitioned', async () => {
    const tables = await sql<{ name: string }[]>`
      select relname as name from pg_class
      where relkind = 'p' and not relispartition and relnamespace = current_schema()::regnamespace`
    assert.deepEqual(tables.map(({ name }) => name).toSorted(), [...OWNED_TABLES].toSorted())
  })

  it('partitions keep no more planner statistics of submitted content than their tables', async () => {
    const differing = await sql`
      select p.attrelid::regclass, p.attname from pg_attribute as p
      join pg_inherits as i on i.inhrelid = p.attrelid
      join pg_attribute as t on t.attrelid = i.inhparent and t.attname = p.attname
      join pg_class as c on c.oid = p.attrelid and c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
      where p.attstattarget is distinct from t.attstattarget`
    assert.equal(differing.count, 0)
  })

  it('rows of other workspaces stay when a workspace is deleted, even in shared partitions', async () => {
    await clearTables(sql)
    const workspaces = Array.from({ length: 4 * PARTITIONS }, () => randomUUID())
    await sql`
      insert into submission (workspace_id, id, acceptance_number, operation, state, attempts, finished_at)
      select w, gen_random_uuid(), 1, 'create_feedback', 'applied', 1, now() from unnest(${workspaces}::uuid[]) as w`
    await beginDeletion(sql, workspaces[0]!)
    assert.equal(await deleteOwnedRows(sql, workspaces[0]!, () => {}), 1)
    assert.equal((await sql`select from submission`).count, workspaces.length - 1)
  })

  it(`the logs give the rows of the model, in any strides and by one or two writers, in ${HISTORIES} histories`, async () => {
    const histories = submissionHistories({ hashKey, purges: true })
    await fc.assert(
      fc.asyncProperty(histories, schedules, async (history, schedule) => {
        await clearTables(sql)
        await resetPositions(sql)
        await deliver(sql, history, schedule)
        assert.deepEqual(await dumpTables(sql), dumpModel(applyAll(hashKey, history)))
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })
})
