import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { seeded } from '../support/property-seed.ts'
import { applyAll } from './model.ts'
import { submissionHistories } from './submission-arbitrary.ts'
import { ANN, byEmail, byExternalId, claiming, contactIdOf, hashKey, jobs } from './submissions.ts'

describe('workspaces', () => {
  it('share nothing', () => {
    const other = 'b3c54be2-54c5-4f0c-8d55-5e9b9b1f0c22'
    const tables = applyAll(hashKey, [
      ...jobs([byEmail('ann@example.org'), byExternalId('x')]),
      ...jobs([claiming('x', 'ann@example.org')], other),
    ])
    assert.deepEqual([contactIdOf(tables, 1), contactIdOf(tables, 2)], [ANN, null])
    assert.equal(tables.contact.length, 2)
  })
})

describe('whatever was submitted', () => {
  const histories = submissionHistories({ hashKey, maxLength: 40, firstNumber: 1_000 })

  it('gives the same tables in whatever order it arrives', () => {
    const arrivals = histories.chain((history) =>
      fc.tuple(fc.constant(history), fc.shuffledSubarray(history, { minLength: history.length })),
    )
    fc.assert(
      fc.property(arrivals, ([history, shuffled]) => {
        assert.deepEqual(applyAll(hashKey, shuffled), applyAll(hashKey, history))
      }),
      seeded(),
    )
  })

  it('leaves no id twice, and none that leads nowhere', () => {
    fc.assert(
      fc.property(histories, (history) => {
        const tables = applyAll(hashKey, history)
        const ids = (rows: readonly { workspace_id: string; id: string }[]) =>
          new Set(rows.map((row) => `${row.workspace_id} ${row.id}`))
        for (const rows of [tables.contact, tables.account, tables.project, tables.feedback, tables.message]) {
          assert.equal(ids(rows).size, rows.length)
        }
        for (const { workspace_id, contact_id, account_id, project_id } of tables.feedback) {
          if (contact_id !== null) assert.ok(ids(tables.contact).has(`${workspace_id} ${contact_id}`))
          if (account_id !== null) assert.ok(ids(tables.account).has(`${workspace_id} ${account_id}`))
          if (project_id !== null) assert.ok(ids(tables.project).has(`${workspace_id} ${project_id}`))
        }
      }),
      seeded(),
    )
  })
})
