import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { store } from '../../db/store.ts'
import { applyAll } from '../model/model.ts'
import { batchesOf, byWorkers, hashKey, histories, schedules, toRows } from '../support/deliveries.ts'
import { seeded } from '../support/property-seed.ts'
import { freshSchema, type TestSchema } from '../support/schema.ts'
import { clearTables, dumpModel, dumpTables } from '../support/tables.ts'

const HISTORIES = Number(process.env['CONVERGENCE_HISTORIES'] ?? (process.env['TEST_SIZE'] === 'long' ? 5_000 : 200))
const WORKERS = 4

describe('whoever processes it, in whatever order', () => {
  let schema: TestSchema

  before(async () => {
    schema = await freshSchema(WORKERS)
  })
  after(() => schema.drop())

  it(`gives what one careful clerk would have written, in ${HISTORIES} histories`, async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        await clearTables(schema.sql)
        for (const row of history.map(toRows)) await store(schema.sql, [row])
        assert.deepEqual(await dumpTables(schema.sql), dumpModel(applyAll(hashKey, history)))
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })

  it(`is the same shuffled, doubled and in batches, by ${WORKERS} workers, in ${HISTORIES} histories`, async () => {
    await fc.assert(
      fc.asyncProperty(histories, schedules, async (history, schedule) => {
        await clearTables(schema.sql)
        await byWorkers(WORKERS, batchesOf(history.map(toRows), schedule), (batch) => store(schema.sql, batch))
        assert.deepEqual(await dumpTables(schema.sql), dumpModel(applyAll(hashKey, history)))
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })
})
