import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import type { JobOf, SubmissionJob } from '../../db/contract/job.ts'
import { contactFinder } from '../../db/find-contacts.ts'
import { store } from '../../db/store.ts'
import { purge } from '../../worker/purge.ts'
import { applyAll } from '../model/model.ts'
import { submissionHistories } from '../model/submission-arbitrary.ts'
import { batchesOf, byWorkers, hashKey, schedules, toRows } from '../support/deliveries.ts'
import { seeded } from '../support/property-seed.ts'
import { freshSchema, type TestSchema } from '../support/schema.ts'
import { clearTables, dumpModel, dumpTables } from '../support/tables.ts'

const HISTORIES = Number(process.env['PURGE_HISTORIES'] ?? (process.env['TEST_SIZE'] === 'long' ? 5_000 : 150))
const WORKERS = 4
const LOOK_UP_TIMEOUT_MS = 30_000
const histories = submissionHistories({ hashKey, maxLength: 30, firstNumber: 1_000_000, purges: true })

const isPurge = (job: SubmissionJob): job is JobOf<'purge_contact'> => job.operation === 'purge_contact'

/** A workspace's history, cut where workers wait: before a purge until all is stored, after it until it is done. */
const parts = (history: readonly SubmissionJob[]): SubmissionJob[][] => {
  const cut: SubmissionJob[][] = [[]]
  for (const job of history) {
    if (isPurge(job)) cut.push([job], [])
    else cut.at(-1)!.push(job)
  }
  return cut
}

describe('purges among other submissions', () => {
  let schema: TestSchema
  before(async () => {
    schema = await freshSchema(WORKERS)
  })
  after(() => schema.drop())

  const carryOut = async (job: JobOf<'purge_contact'>): Promise<void> => {
    const findContacts = contactFinder(schema.sql, hashKey, LOOK_UP_TIMEOUT_MS)
    await purge({ sql: schema.sql, findContacts }, job, { attempts: 1, onProgress: async () => {} })
  }

  it(`leave what one careful clerk would have left, whoever processes the rest, in ${HISTORIES} histories`, async () => {
    await fc.assert(
      fc.asyncProperty(histories, schedules, async (history, schedule) => {
        await clearTables(schema.sql)
        for (const own of Map.groupBy(history, ({ workspaceId }) => workspaceId).values()) {
          for (const part of parts(own)) {
            const [first] = part
            if (first && isPurge(first)) await carryOut(first)
            else await byWorkers(WORKERS, batchesOf(part.map(toRows), schedule), (batch) => store(schema.sql, batch))
          }
        }
        assert.deepEqual(await dumpTables(schema.sql), dumpModel(applyAll(hashKey, history)))
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })

  it(`are not undone by what is delivered again, in ${HISTORIES} histories`, async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        await clearTables(schema.sql)
        for (const job of history) await (isPurge(job) ? carryOut(job) : store(schema.sql, [toRows(job)]))
        const expected = await dumpTables(schema.sql)
        for (const job of history) if (!isPurge(job)) await store(schema.sql, [toRows(job)])
        assert.deepEqual(await dumpTables(schema.sql), expected)
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })
})
