import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { clerksAfter, applyAll } from '../model/model.ts'
import { submissionHistories } from '../model/submission-arbitrary.ts'
import { hashKey } from '../model/submissions.ts'
import { seeded } from '../support/property-seed.ts'
import { assertRows, foldAll } from './folded.ts'

const HISTORIES = process.env['TEST_SIZE'] === 'long' ? 20_000 : 100
const WORKSPACE = '6f1b7c1e-52f1-4d0a-9c58-0c8f4f1f3a01'

describe('the fold of a workspace', () => {
  const histories = submissionHistories({ hashKey, workspaceIds: [WORKSPACE], replays: true })

  it(`gives the rows of the model, and the superseded replays, in ${HISTORIES} histories`, () => {
    fc.assert(
      fc.property(histories, (history) => {
        const fold = foldAll(hashKey, WORKSPACE, history)
        assertRows(fold, applyAll(hashKey, history))
        const superseded = fold.folded.flatMap(({ submission, state }) =>
          state === 'superseded' ? submission.submissionId : [],
        )
        const expected = clerksAfter(hashKey, history).get(WORKSPACE)?.superseded ?? []
        assert.deepEqual(superseded.toSorted(), [...expected].toSorted())
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })
})
