import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { hashKeyFrom } from '../../../contract/identity/own-id.ts'
import type { Submission } from '../../../contract/submission.ts'
import { type Changes, noChanges } from '../../../db/save.ts'
import { StrideKeys } from '../../../worker/apply/keys.ts'
import { Fold, type FoldableSubmission } from '../../../worker/fold/fold.ts'
import { clerksAfter, applyAll } from '../../model/model.ts'
import { submissionHistories } from '../../model/submission-arbitrary.ts'
import { instant, type Tables } from '../../model/tables.ts'
import { seeded } from '../../support/property-seed.ts'

const HISTORIES = process.env['TEST_SIZE'] === 'long' ? 20_000 : 200
const WORKSPACE = '6f1b7c1e-52f1-4d0a-9c58-0c8f4f1f3a01'
const hashKey = hashKeyFrom('5a'.repeat(32))
const NOTHING = { position: 0, hasMoves: false, isRemoving: false, hadPurges: false, rows: [] }

/** Folds a whole history in one stride of a workspace in which nothing is stored. */
const foldAll = (history: readonly Submission[]): { fold: Fold; changes: Changes } => {
  const keys = new StrideKeys({ hashKey, workspaceId: WORKSPACE }, history, false)
  const fold = new Fold(keys.realm)
  fold.learn(NOTHING, keys)
  for (const submission of history) fold.takeIn(submission as FoldableSubmission)
  const changes = noChanges()
  fold.writeTo(changes, 1)
  return { fold, changes }
}

const idsOf = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id).toSorted()
const linksOf = (rows: readonly { id: string; contact?: string | undefined }[]): string[] =>
  rows.map(({ id, contact }) => `${id} ${contact ?? null}`).toSorted()
const instantIn = (given: unknown): string | null => (given == null ? null : instant(given as string))

/** What a stride adds, as the model describes it. */
const describeProfiles = (rows: Changes['contact_new']) =>
  rows
    .map((row) => ({
      id: row.id,
      name: row['name'] ?? null,
      source_updated_at: instantIn(row['source_updated_at']),
      properties: row.properties,
      created_number: row.first_number,
      updated_number: row.number,
    }))
    .toSorted((one, other) => (one.id < other.id ? -1 : 1))

const describeModel = (rows: Tables['contact'] | Tables['account']) =>
  rows
    .map(({ id, name, source_updated_at, properties, created_number, updated_number }) => {
      return { id, name, source_updated_at, properties, created_number, updated_number }
    })
    .toSorted((one, other) => (one.id < other.id ? -1 : 1))

describe('the fold of a workspace', () => {
  const histories = submissionHistories({ hashKey, workspaceIds: [WORKSPACE], firstNumber: 1_000_000, replays: true })

  it(`comes to what the model has, without a database, in ${HISTORIES} histories`, () => {
    fc.assert(
      fc.property(histories, (history) => {
        const { changes } = foldAll(history)
        const tables = applyAll(hashKey, history)
        assert.deepEqual(describeProfiles(changes.contact_new), describeModel(tables.contact))
        assert.deepEqual(describeProfiles(changes.account_new), describeModel(tables.account))
        assert.deepEqual(idsOf(changes.project), idsOf(tables.project))
        assert.deepEqual(idsOf(changes.conversation), idsOf(tables.conversation))
        const contactsOf = (rows: Tables['feedback'] | Tables['message']) =>
          linksOf(rows.map(({ id, contact_id }) => ({ id, contact: contact_id ?? undefined })))
        assert.deepEqual(linksOf(changes.feedback), contactsOf(tables.feedback))
        assert.deepEqual(linksOf(changes.message), contactsOf(tables.message))
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })

  it(`says which replays are superseded, in ${HISTORIES} histories`, () => {
    fc.assert(
      fc.property(histories, (history) => {
        const { fold } = foldAll(history)
        const superseded = fold.folded.flatMap(({ submission, state }) =>
          state === 'superseded' ? submission.submissionId : [],
        )
        const expected = clerksAfter(hashKey, history).get(WORKSPACE)?.superseded ?? new Set<string>()
        assert.deepEqual(superseded.toSorted(), [...expected].toSorted())
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })

  it('gives nothing new when a stride is settled and nothing follows', () => {
    fc.assert(
      fc.property(histories, (history) => {
        const { fold } = foldAll(history)
        fold.settle()
        const changes = noChanges()
        fold.writeTo(changes, 1)
        assert.deepEqual(changes, noChanges())
      }),
      seeded({ numRuns: 100 }),
    )
  })
})
