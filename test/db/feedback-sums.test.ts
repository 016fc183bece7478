import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { setSource } from '../../db/sources.ts'
import { tag } from '../../worker/tagging/tagging.ts'
import { submissionHistories, WORKSPACES } from '../model/submission-arbitrary.ts'
import { deliver, schedules } from '../support/deliver.ts'
import { assertCounts, assertSpans, assertSums, sumSoon, sumUp } from '../support/feedback-sums.ts'
import { seeded } from '../support/property-seed.ts'
import { freshSchema, hashKey, makeWorkspaces, type TestSchema } from '../support/schema.ts'
import { clearTables, resetPositions } from '../support/tables.ts'

const HISTORIES = Number(process.env['CONVERGENCE_HISTORIES'] ?? (process.env['TEST_SIZE'] === 'long' ? 2_000 : 20))
const WORKSPACE = WORKSPACES[0]!
const SCALES: readonly ([number, number] | null)[] = [[1, 5], [0, 10], null]

/** What happens between two steps of a history, beside the steps. */
const betweenSteps = fc.array(fc.constantFrom('nothing', 'step', 'step', 'all', 'tag', 'scale'), {
  minLength: 5,
  maxLength: 9,
})

describe('the sums of feedback', () => {
  let schema: TestSchema

  before(async () => {
    schema = await freshSchema()
    await makeWorkspaces(schema.sql, WORKSPACES)
    await schema.sql`create or replace function move_limit() returns integer language sql immutable as 'select 1'`
    await sumSoon(schema.sql)
  })
  after(() => schema.drop())

  const idsOf = async (table: 'feedback' | 'conversation'): Promise<string[]> => {
    const rows = await schema.sql<
      { id: string }[]
    >`select id from ${schema.sql(table)} where workspace_id = ${WORKSPACE}`
    return rows.map(({ id }) => id)
  }

  const tagAll = async (): Promise<void> => {
    const [feedbackIds, conversationIds] = [await idsOf('feedback'), await idsOf('conversation')]
    await tag({ sql: schema.sql, hashKey }, { workspaceId: WORKSPACE, feedbackIds, conversationIds })
  }

  const changeScale = async (turn: number): Promise<void> => {
    const rows = await schema.sql<{ source: string }[]>`
      select distinct source from feedback where workspace_id = ${WORKSPACE} order by source`
    const source = rows[turn % Math.max(rows.length, 1)]?.source
    if (source !== undefined)
      await setSource(schema.sql, { workspaceId: WORKSPACE, source }, { scale: SCALES[turn % SCALES.length]! })
  }

  /** Removes all feedback as a purge does. */
  const removeAll = async (): Promise<void> => {
    const { sql } = schema
    await sql`
      insert into purge (workspace_id, id, number, contact_ids, feedback_ids, keys, subject_ids, contacts)
      select ${WORKSPACE}, gen_random_uuid(), 9e15, '{}', array_agg(id), '{}', '{}', 0 from feedback
      where workspace_id = ${WORKSPACE} having count(*) > 0`
    for (;;) {
      const [row] = await sql<[{ removed: boolean }]>`select remove_step(${WORKSPACE}::uuid, 2) as removed`
      if (!row.removed) return
      await assertSums(sql, WORKSPACE)
    }
  }

  it(`equal the feedback after each step, with corrections, themes, merges, purges, tags and new scales, and leave no trace: ${HISTORIES} histories`, () =>
    fc.assert(
      fc.asyncProperty(
        submissionHistories({ hashKey, corrections: true, themes: true, replays: true, purges: true }),
        schedules,
        betweenSteps,
        async (history, schedule, acts) => {
          const { sql } = schema
          await clearTables(sql)
          await resetPositions(sql)
          let turn = 0
          const onStep = async (): Promise<void> => {
            await assertSums(sql, WORKSPACE)
            const act = acts[turn % acts.length]!
            turn += 1
            if (act === 'step') await sumUp(sql, WORKSPACE, 1)
            else if (act === 'all') await sumUp(sql, WORKSPACE)
            else if (act === 'tag') await tagAll()
            else if (act === 'scale') await changeScale(turn)
            await assertSums(sql, WORKSPACE)
          }
          await deliver(sql, history, { ...schedule, onStep })
          await assertCounts(sql, WORKSPACE)
          await assertSpans(sql, WORKSPACE)
          await sumUp(sql, WORKSPACE)
          await assertSums(sql, WORKSPACE)
          await assertCounts(sql, WORKSPACE)
          await assertSpans(sql, WORKSPACE)
          await removeAll()
          assert.equal((await sql`select from feedback where workspace_id = ${WORKSPACE}`).length, 0)
          assert.equal((await sql`select from feedback_sum where workspace_id = ${WORKSPACE}`).length, 0)
        },
      ),
      seeded({ numRuns: HISTORIES, endOnFailure: true }),
    ))
})
