import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { applyAll, clerksAfter } from '../model/model.ts'
import { deliver, type Schedule, schedules } from '../support/deliver.ts'
import { parsed, submissionHistories, WORKSPACES } from '../model/submission-arbitrary.ts'
import type { Submission } from '../../contract/submission.ts'
import { seeded } from '../support/property-seed.ts'
import { freshSchema, hashKey, makeWorkspaces, type TestSchema } from '../support/schema.ts'
import { clearTables, type Dump, dumpModel, dumpTables, resetPositions } from '../support/tables.ts'

const HISTORIES = Number(process.env['CONVERGENCE_HISTORIES'] ?? (process.env['TEST_SIZE'] === 'long' ? 5_000 : 100))

describe('applying the logs of workspaces', () => {
  let schema: TestSchema

  before(async () => {
    schema = await freshSchema()
    await makeWorkspaces(schema.sql, WORKSPACES)
    // The smallest step, so that moves of records take several steps.
    await schema.sql`create or replace function move_limit() returns integer language sql immutable as 'select 1'`
    // So that many submissions have more metadata than one load.
    await schema.sql`create or replace function metadata_limit() returns integer language sql immutable as 'select 1'`
  })
  after(() => schema.drop())

  const converges = async (history: readonly Submission[], schedule: Schedule): Promise<void> => {
    await clearTables(schema.sql)
    await resetPositions(schema.sql)
    await deliver(schema.sql, history, schedule)
    assert.deepEqual(await dumpTables(schema.sql), dumpModel(applyAll(hashKey, history)))
    await assertReceipts(history)
  }

  /** Each submission has one receipt, in the state of the model. None is dead. */
  const assertReceipts = async (history: readonly Submission[]): Promise<void> => {
    const receipts = await schema.sql<{ id: string; state: string }[]>`select id, state from submission order by id`
    const superseded = [...clerksAfter(hashKey, history).values()].flatMap((clerk) => [...clerk.superseded])
    const expected = history.map(({ submissionId: id }) => ({
      id,
      state: superseded.includes(id) ? 'superseded' : 'applied',
    }))
    assert.deepEqual(
      receipts.map(({ id, state }) => ({ id, state })),
      expected.toSorted((one, other) => (one.id < other.id ? -1 : 1)),
    )
    const [counted] = await schema.sql<{ applied: number; superseded: number }[]>`
      select sum(applied)::int as applied, sum(superseded)::int as superseded from workspace_progress`
    assert.deepEqual(counted, { applied: history.length - superseded.length, superseded: superseded.length })
    assert.equal((await schema.sql`select from dead_submission`).length, 0)
    const waiting = await schema.sql`
      select from unresolved as u
      where not exists (select from feedback as f where f.workspace_id = u.workspace_id and f.id = u.record_id)
        and not exists (select from message as m where m.workspace_id = u.workspace_id and m.id = u.record_id)`
    assert.equal(waiting.count, 0, 'no removed record waits')
  }

  it(`gives the rows of the model, in any strides, delivered twice and by two writers: ${HISTORIES} histories`, () =>
    fc.assert(
      fc.asyncProperty(
        // Purges remove records during later strides.
        submissionHistories({ hashKey, corrections: true, themes: true, replays: true, purges: true }),
        schedules,
        converges,
      ),
      // Shrinking would exceed the time of a test. FC_SEED gives the same histories again.
      seeded({ numRuns: HISTORIES, endOnFailure: true }),
    ))

  it(`leaves no trace of undone corrections but their numbers: ${HISTORIES} histories`, () =>
    fc.assert(
      fc.asyncProperty(
        submissionHistories({ hashKey, corrections: true, replays: true, purges: true }),
        schedules,
        async (history, schedule) => {
          await clearTables(schema.sql)
          await resetPositions(schema.sql)
          await deliver(schema.sql, [...history, ...undoAll(history)], schedule)
          const others = history.filter(({ operation }) => operation !== 'correct_feedback')
          assert.deepEqual(
            withoutNumbers(await dumpTables(schema.sql)),
            withoutNumbers(dumpModel(applyAll(hashKey, others))),
          )
        },
      ),
      seeded({ numRuns: HISTORIES, endOnFailure: true }),
    ))
})

/** Undoes all members of each corrected feedback, after the history. */
const undoAll = (history: readonly Submission[]): Submission[] => {
  const last = new Map<string, number>()
  for (const { workspaceId, number } of history) last.set(workspaceId, Math.max(number, last.get(workspaceId) ?? 0))
  const corrected = new Map(
    history.flatMap((submission) =>
      submission.operation === 'correct_feedback'
        ? [[`${submission.workspaceId} ${submission.body.id}`, submission]]
        : [],
    ),
  )
  return [...corrected.values()].map(({ workspaceId, body: { id } }) => {
    const number = last.get(workspaceId)! + 1
    last.set(workspaceId, number)
    const submissionId = `01900000-0000-7000-9000-${workspaceId.slice(-2)}${String(number).padStart(10, '0')}`
    return parsed({
      workspaceId,
      number,
      submissionId,
      operation: 'correct_feedback',
      body: { id, tags: null, rating: null, isHidden: null, kind: null, themeId: null },
    })
  })
}

const withoutNumbers = (dump: Dump): Dump =>
  Object.fromEntries(
    Object.entries(dump).map(([table, rows]) => [
      table,
      rows.map((row) => JSON.stringify({ ...(JSON.parse(row) as object), correction_numbers: null })).toSorted(),
    ]),
  )
