import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { finishPurge, removeRecords } from '../../../db/purges/purge.ts'
import { applyAll } from '../../model/model.ts'
import { submissionHistories } from '../../model/submission-arbitrary.ts'
import { applyHistory, hashKey, LENGTH } from '../../support/deliveries.ts'
import { seeded } from '../../support/property-seed.ts'
import { freshSchema, type TestSchema } from '../../support/schema.ts'
import { clearTables, dumpModel, dumpTables, resetPositions } from '../../support/tables.ts'

const HISTORIES = Number(process.env['PURGE_HISTORIES'] ?? (process.env['TEST_SIZE'] === 'long' ? 5_000 : 40))
const histories = submissionHistories({ hashKey, maxLength: LENGTH, firstNumber: 1_000_000, purges: true })
/** The number of submissions of a stride, and the number and size of the removal steps after it. */
const paces = fc.record({
  sizes: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: LENGTH }),
  steps: fc.array(fc.record({ count: fc.nat({ max: 3 }), most: fc.integer({ min: 1, max: 3 }) }), {
    minLength: 1,
    maxLength: LENGTH,
  }),
})

type Purge = { workspaceId: string; purgeId: string }

describe('the removal of purged records between later strides', () => {
  let schema: TestSchema
  before(async () => {
    schema = await freshSchema(2)
  })
  after(() => schema.drop())

  const takeStep = async ({ workspaceId, purgeId }: Purge, most: number): Promise<number> => {
    const [step] = await schema.sql<[{ removed: number }]>`
      select purge_step(${workspaceId}::uuid, ${purgeId}::uuid, ${most}) as removed`
    return step.removed
  }
  const finish = async (purge: Purge): Promise<void> => {
    await removeRecords(schema.sql, purge, async () => {})
    await finishPurge(schema.sql, { ...purge, attempts: 1 })
  }

  it(`leaves the same rows as removal in one step, in ${HISTORIES} histories`, async () => {
    await fc.assert(
      fc.asyncProperty(histories, paces, async (history, { sizes, steps }) => {
        await clearTables(schema.sql)
        await resetPositions(schema.sql)
        const pending: Purge[] = []
        let strides = 0
        await applyHistory(schema.sql, history, {
          sizes,
          onResult: async (workspaceId, result) => {
            if (result.outcome === 'applied') {
              pending.push(...result.decided.map(({ submissionId }) => ({ workspaceId, purgeId: submissionId })))
            }
            const { count, most } = steps[strides++ % steps.length]!
            for (let step = 0; step < count && pending.length > 0; step++) {
              // The purges take turns, so that several are under way at the same time.
              const purge = pending.shift()!
              if ((await takeStep(purge, most)) > 0) pending.push(purge)
              else await finish(purge)
            }
          },
        })
        for (const purge of pending) await finish(purge)
        assert.deepEqual(await dumpTables(schema.sql), dumpModel(applyAll(hashKey, history)))
        const waiting = await schema.sql`
          select from unresolved as u
          where not exists (select from feedback as f where f.workspace_id = u.workspace_id and f.id = u.record_id)
            and not exists (select from message as m where m.workspace_id = u.workspace_id and m.id = u.record_id)`
        assert.equal(waiting.count, 0, 'no removed record waits')
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })
})
