import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import type { SubmissionJob } from '../../db/contract/job.ts'
import { hashKeyFrom } from '../../db/contract/own-id.ts'
import { isUnavailable } from '../../db/fault.ts'
import { connectPostgres, type Sql } from '../../db/postgres.ts'
import { type Rows, store } from '../../db/store.ts'
import { rowsOf, type StoredJob } from '../../worker/rows.ts'
import { applyAll } from '../model/model.ts'
import { submissionHistories } from '../model/submission-arbitrary.ts'
import { seeded } from '../support/property-seed.ts'
import { freshSchema, type TestSchema } from '../support/schema.ts'
import { testServers } from '../support/servers.ts'
import { clearTables, dumpModel, dumpTables } from '../support/tables.ts'

const HISTORIES = Number(process.env['CONVERGENCE_HISTORIES'] ?? (process.env['TEST_SIZE'] === 'long' ? 5_000 : 200))
const LENGTH = 30
const WORKERS = 4
const hashKey = hashKeyFrom('5a'.repeat(32))
// Postgres keeps whole microseconds, and so do acceptance numbers.
const histories = submissionHistories({ hashKey, maxLength: LENGTH, firstNumber: 1_000_000 })

/** How a history reaches the workers: in which order, what twice, in batches of which size, and when one of them dies. */
const schedules = fc.record({
  order: fc.array(fc.nat({ max: 1_000_000 }), { minLength: 2 * LENGTH, maxLength: 2 * LENGTH }),
  twice: fc.array(fc.boolean(), { minLength: LENGTH, maxLength: LENGTH }),
  sizes: fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 2 * LENGTH, maxLength: 2 * LENGTH }),
  killed: fc.array(fc.nat({ max: 7 }), { minLength: 2 * LENGTH, maxLength: 2 * LENGTH }),
})
type Schedule = typeof schedules extends fc.Arbitrary<infer T> ? T : never

const toRows = (job: SubmissionJob): Rows => rowsOf(hashKey, job as StoredJob, 1)

/** Shuffled, with doubles, in batches that hold a submission once. */
const batchesOf = (rows: readonly Rows[], { order, twice, sizes }: Schedule): Rows[][] => {
  const delivered = [...rows, ...rows.filter((_, index) => twice[index])]
  const shuffled = delivered
    .map((row, index) => ({ row, place: order[index]! }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ row }) => row)
  const batches: Rows[][] = []
  for (let size = 0, at = 0; at < shuffled.length; at += size) {
    size = sizes[batches.length]!
    batches.push([...new Map(shuffled.slice(at, at + size).map((row) => [row.submission.id, row])).values()])
  }
  return batches
}

/** A delivery whose connection dies is delivered again, as a queue does. */
const deliver = async (sql: Sql, batch: readonly Rows[], dies: boolean): Promise<void> => {
  if (dies) {
    await Promise.all([
      store(sql, batch).catch((error: unknown) => assert.ok(isUnavailable(error), String(error))),
      sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = current_setting('application_name') and state = 'active' and pid <> pg_backend_pid()`.catch(
        (error: unknown) => assert.ok(isUnavailable(error), String(error)),
      ),
    ])
  }
  for (;;) {
    try {
      await store(sql, batch)
      return
    } catch (error) {
      // Another batch's killer may have hit this one's connection.
      assert.ok(isUnavailable(error), String(error))
    }
  }
}

describe('whoever processes it, in whatever order', () => {
  let alone: TestSchema
  let together: TestSchema
  let workers: Sql

  before(async () => {
    alone = await freshSchema(1)
    together = await freshSchema(1)
    // A pool of its own, so that killers hit workers only, and none of another test.
    workers = connectPostgres(testServers().databaseUrl, {
      connections: WORKERS,
      statementTimeoutMs: 60_000,
      applicationName: `worker-of-${together.name}`,
      schema: together.name,
    })
  })
  after(async () => {
    await workers.end({ timeout: 5 })
    await alone.drop()
    await together.drop()
  })

  it(`gives what one careful clerk would have written, in ${HISTORIES} histories`, async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        await clearTables(alone.sql)
        for (const row of history.map(toRows)) await store(alone.sql, [row])
        assert.deepEqual(await dumpTables(alone.sql), dumpModel(applyAll(hashKey, history)))
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })

  it(`is the same shuffled, doubled, in batches, by ${WORKERS} workers of which some die, in ${HISTORIES} histories`, async () => {
    await fc.assert(
      fc.asyncProperty(histories, schedules, async (history, schedule) => {
        await clearTables(together.sql)
        const batches = batchesOf(history.map(toRows), schedule)
        await Promise.all(
          Array.from({ length: WORKERS }, async (_, worker) => {
            for (let index = worker; index < batches.length; index += WORKERS) {
              await deliver(workers, batches[index]!, schedule.killed[index] === 0)
            }
          }),
        )
        assert.deepEqual(await dumpTables(together.sql), dumpModel(applyAll(hashKey, history)))
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })
})
