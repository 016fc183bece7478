import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { isUnavailable } from '../../process/fault.ts'
import { connectPostgres, type Sql } from '../../db/postgres.ts'
import { type Rows, store } from '../../db/store.ts'
import { applyAll } from '../model/model.ts'
import { batchesOf, byWorkers, hashKey, histories, schedules, toRows } from '../support/deliveries.ts'
import { seeded } from '../support/property-seed.ts'
import { freshSchema, type TestSchema } from '../support/schema.ts'
import { testServers } from '../support/servers.ts'
import { clearTables, dumpModel, dumpTables } from '../support/tables.ts'

const HISTORIES = Number(process.env['FAULT_HISTORIES'] ?? (process.env['TEST_SIZE'] === 'long' ? 2_000 : 60))
const WORKERS = 4

const expectUnavailable = (error: unknown): void => assert.ok(isUnavailable(error), String(error))

/** A delivery whose connection dies is delivered again, as a queue does. */
const deliver = async (sql: Sql, batch: readonly Rows[], dies: boolean): Promise<void> => {
  if (dies) {
    await Promise.all([
      store(sql, batch).catch(expectUnavailable),
      sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = current_setting('application_name') and state = 'active' and pid <> pg_backend_pid()
      `.catch(expectUnavailable),
    ])
  }
  for (;;) {
    try {
      await store(sql, batch)
      return
    } catch (error) {
      // Another batch's killer may have hit this one's connection.
      expectUnavailable(error)
    }
  }
}

describe('connections that die in the middle of a statement', () => {
  let schema: TestSchema
  let workers: Sql

  before(async () => {
    schema = await freshSchema(1)
    // A pool of its own, so that killers hit workers only, and none of another test.
    workers = connectPostgres(testServers().databaseUrl, {
      connections: WORKERS,
      statementTimeoutMs: 60_000,
      applicationName: `worker-of-${schema.name}`,
      schema: schema.name,
    })
  })
  after(async () => {
    await workers.end({ timeout: 5 })
    await schema.drop()
  })

  it(`leave nothing half done and nothing unanswered, in ${HISTORIES} histories`, async () => {
    await fc.assert(
      fc.asyncProperty(histories, schedules, async (history, schedule) => {
        await clearTables(schema.sql)
        await byWorkers(WORKERS, batchesOf(history.map(toRows), schedule), (batch, index) =>
          deliver(workers, batch, schedule.killed[index] === 0),
        )
        assert.deepEqual(await dumpTables(schema.sql), dumpModel(applyAll(hashKey, history)))
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })
})
