import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { setAside } from '../../db/submissions/dead.ts'
import { applyAll } from '../model/model.ts'
import { batchesOf, byWorkers, hashKey, histories, LENGTH, schedules, storing, toRows } from '../support/deliveries.ts'
import { seeded } from '../support/property-seed.ts'
import { freshSchema, type TestSchema } from '../support/schema.ts'
import { linkOneAtATime } from '../support/relink-steps.ts'
import { clearTables, dumpModel, dumpTables } from '../support/tables.ts'

const HISTORIES = Number(process.env['CONVERGENCE_HISTORIES'] ?? (process.env['TEST_SIZE'] === 'long' ? 5_000 : 200))
/** Each has as many statements as references that move. */
const IN_STEPS = Math.ceil(HISTORIES / 4)
const WORKERS = 4
/** An acceptance number after all of a history's. */
const LATER = 2_000_000

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
        const storeNext = storing(schema.sql, history)
        for (const row of history.map(toRows)) await storeNext([row])
        assert.deepEqual(await dumpTables(schema.sql), dumpModel(applyAll(hashKey, history)))
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })

  it(`keeps every contact and account id resolving to the right one, through all merges, in ${HISTORIES} histories`, async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        await clearTables(schema.sql)
        const answered: { workspace: string; record: string; number: string; contact: string; account: string }[] = []
        const storeNext = storing(schema.sql, history)
        for (const row of history.map(toRows)) {
          await storeNext([row])
          answered.push(
            ...(await schema.sql<typeof answered>`
              select workspace_id as workspace, id as record, number, contact_id as contact, account_id as account
              from feedback where number = ${row.submission.number} and workspace_id = ${row.workspaceId}`),
          )
        }
        const wrong = await schema.sql`
          select a.*, f.contact_id as contact_now, f.account_id as account_now
          from jsonb_to_recordset(${schema.sql.json(answered)})
            as a (workspace uuid, record uuid, number bigint, contact uuid, account uuid)
          left join feedback as f on f.workspace_id = a.workspace and f.id = a.record and f.number = a.number,
            resolve_own(a.workspace, 'contact', a.contact, ${LATER}::bigint) as contact_later,
            resolve_own(a.workspace, 'account', a.account, ${LATER}::bigint) as account_later
          where (a.contact is not null and not exists (
              select from contact where workspace_id = a.workspace and id = contact_later))
            or (a.account is not null and not exists (
              select from account where workspace_id = a.workspace and id = account_later))
            or (a.contact is not null and f.id is not null and f.contact_id is distinct from contact_later)
            or (a.account is not null and f.id is not null and f.account_id is distinct from account_later)`
        assert.deepEqual([...wrong], [])
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })

  it(`is the same when some were dead meanwhile and are replayed at last, in ${HISTORIES} histories`, async () => {
    const deaths = fc.array(fc.nat({ max: 5 }), { minLength: LENGTH, maxLength: LENGTH })
    await fc.assert(
      fc.asyncProperty(histories, deaths, async (history, of) => {
        await clearTables(schema.sql)
        const isDead = (_: unknown, at: number): boolean => of[at] === 0
        const [dead, others] = [history.filter(isDead), history.filter((job, at) => !isDead(job, at))]
        for (const job of dead) await setAside(schema.sql, hashKey, { job, attempts: 1, reason: 'Poison' })
        const storeNext = storing(schema.sql, others)
        for (const row of others.map(toRows)) await storeNext([row])
        for (const row of dead.map(toRows)) await storeNext([row])
        assert.deepEqual(await dumpTables(schema.sql), dumpModel(applyAll(hashKey, history)))
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })

  it(`is the same shuffled, doubled and in batches, by ${WORKERS} workers, in ${HISTORIES} histories`, async () => {
    await fc.assert(
      fc.asyncProperty(histories, schedules, async (history, schedule) => {
        await clearTables(schema.sql)
        await byWorkers(WORKERS, batchesOf(history.map(toRows), schedule), storing(schema.sql, history))
        assert.deepEqual(await dumpTables(schema.sql), dumpModel(applyAll(hashKey, history)))
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })

  it(`is the same when references are linked anew in steps, by ${WORKERS} workers, in ${IN_STEPS} histories`, async () => {
    const inSteps = await freshSchema(WORKERS)
    await linkOneAtATime(inSteps.sql)
    try {
      await fc.assert(
        fc.asyncProperty(histories, schedules, async (history, schedule) => {
          await clearTables(inSteps.sql)
          await byWorkers(WORKERS, batchesOf(history.map(toRows), schedule), storing(inSteps.sql, history))
          assert.deepEqual(await dumpTables(inSteps.sql), dumpModel(applyAll(hashKey, history)))
        }),
        seeded({ numRuns: IN_STEPS }),
      )
    } finally {
      await inSteps.drop()
    }
  })
})
