import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { hashKeyFrom } from '../../../contract/identity/own-id.ts'
import { sayingsOf } from '../../../contract/identity/sayings.ts'
import { rowsOf } from '../../../worker/rows/rows.ts'
import { sayingsIn } from '../../../worker/settle.ts'
import { submissionHistories } from '../../model/submission-arbitrary.ts'
import { seeded } from '../../support/property-seed.ts'

const hashKey = hashKeyFrom('5a'.repeat(32))

describe('what rows say', () => {
  it('is to the letter what their submission said when it was admitted', () => {
    let compared = 0
    fc.assert(
      fc.property(submissionHistories({ hashKey }), (history) => {
        for (const submission of history) {
          if (submission.operation === 'purge_contact') continue
          const { workspaceId } = submission
          const said = sayingsIn(hashKey, { submission, rows: rowsOf(hashKey, submission, 1) })
          // Redis takes back only texts that are the same.
          assert.equal(JSON.stringify(said), JSON.stringify(sayingsOf({ hashKey, workspaceId }, submission)))
          if (said.aboutKeys.length > 0) compared++
        }
      }),
      seeded({ numRuns: 300 }),
    )
    assert.ok(compared > 300)
  })
})
