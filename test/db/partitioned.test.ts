import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { migrate, readMigrations } from '../../db/migrate.ts'
import { connectPostgres, type Sql } from '../../db/postgres.ts'
import { beginDeletion, deleteOwnedRows } from '../../db/delete-workspace.ts'
import { store } from '../../db/store.ts'
import { expireReceipts } from '../../db/submissions/expire-receipts.ts'
import { applyAll } from '../model/model.ts'
import { batchesOf, byWorkers, hashKey, histories, schedules, toRows } from '../support/deliveries.ts'
import { PARTITIONS, partitionedMigrations, tablesThatGrow } from '../support/partitioned-migrations.ts'
import { seeded } from '../support/property-seed.ts'
import { testServers } from '../support/servers.ts'
import { clearTables, dumpModel, dumpTables } from '../support/tables.ts'

const HISTORIES = process.env['TEST_SIZE'] === 'long' ? 300 : 10
const WORKERS = 4

describe('partitioned by workspace', () => {
  const name = `t_${randomBytes(8).toString('hex')}`
  let sql: Sql
  before(async () => {
    const options = { connections: WORKERS, statementTimeoutMs: 60_000, applicationName: 'test', schema: name }
    sql = connectPostgres(testServers().databaseUrl, options)
    await sql`create schema ${sql(name)}`
    await migrate(sql, await partitionedMigrations())
  })
  after(async () => {
    await sql`drop schema ${sql(name)} cascade`
    await sql.end({ timeout: 5 })
  })

  it('all migrations run, and every table that grows is partitioned', async () => {
    const tables = await sql<{ name: string; isPartitioned: boolean }[]>`
      select relname as name, relkind = 'p' as "isPartitioned" from pg_class
      where relkind in ('r', 'p') and not relispartition and relnamespace = ${name}::regnamespace`
    const whole = tables.filter(({ isPartitioned }) => !isPartitioned).map((table) => table.name)
    const ofTheInstallation = [
      'deleted_workspace',
      'installation',
      'schema_functions',
      'schema_migration',
      'token',
      'workspace',
    ]
    assert.deepEqual(whole.toSorted(), ofTheInstallation)
  })

  it('partitions keep as few planner statistics of what people said as their tables', async () => {
    const differing = await sql`
      select p.attrelid::regclass, p.attname from pg_attribute as p
      join pg_inherits as i on i.inhrelid = p.attrelid
      join pg_attribute as t on t.attrelid = i.inhparent and t.attname = p.attname
      join pg_class as c on c.oid = p.attrelid and c.relkind = 'r' and c.relnamespace = ${name}::regnamespace
      where p.attstattarget is distinct from t.attstattarget`
    assert.equal(differing.count, 0)
  })

  it('rows of others stay that have the same places in other partitions, when a workspace is deleted or receipts expire', async () => {
    await clearTables(sql)
    const workspaces = Array.from({ length: 4 * PARTITIONS }, () => randomUUID())
    await sql`
      insert into submission (workspace_id, id, acceptance_number, operation, state, attempts, finished_at)
      select w, gen_random_uuid(), 1, 'x', 'applied', 1, now() - case when w = ${workspaces[1]!} then interval '9 days' else '0' end
      from unnest(${workspaces}::uuid[]) as w`
    const held = async (): Promise<number> => (await sql`select from submission`).count
    const [shared] = await sql<[{ places: number }]>`select count(distinct ctid)::int as places from submission`
    assert.ok(shared.places < workspaces.length)
    assert.equal(await expireReceipts(sql, 8), 1)
    assert.equal(await held(), workspaces.length - 1)
    await beginDeletion(sql, workspaces[0]!)
    assert.equal(await deleteOwnedRows(sql, workspaces[0]!, () => {}), 2, 'a receipt, and its line in the ledger')
    assert.equal(await held(), workspaces.length - 2)
  })

  it(`stores as one clerk would have, by ${WORKERS} workers, in ${HISTORIES} histories`, async () => {
    await fc.assert(
      fc.asyncProperty(histories, schedules, async (history, schedule) => {
        await clearTables(sql)
        await byWorkers(WORKERS, batchesOf(history.map(toRows), schedule), (batch) => store(sql, batch))
        assert.deepEqual(await dumpTables(sql), dumpModel(applyAll(hashKey, history)))
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })
})

describe('the guide for Citus', () => {
  it('distributes every table that grows, and no other', async () => {
    const guide = readFileSync(new URL('../../docs/growing.md', import.meta.url), 'utf8')
    const named = [...guide.matchAll(/create_distributed_table\('(\w+)', 'workspace_id'/g)].map(
      ([, table = '']) => table,
    )
    const tables = (await readMigrations()).flatMap(tablesThatGrow)
    assert.deepEqual(new Set(named), new Set(tables))
    assert.equal(named.length, tables.length)
  })
})
