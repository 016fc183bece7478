import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { seeded } from '../support/property-seed.ts'
import { ownId } from '../../contract/identity/keys.ts'
import type { Submission } from '../../contract/submission.ts'
import { emailMeans } from './contacts.ts'
import { clerksAfter } from './model.ts'
import { emailKey } from './plain-keys.ts'
import { findByOwnId } from './register.ts'
import { submissionHistories } from './submission-arbitrary.ts'
import { hashKey } from './submissions.ts'

const SAMPLE = 100
const MOST_BEFORE = 6

describe('random histories', () => {
  it('repeat many submissions', () => {
    const histories = fc.sample(submissionHistories({ hashKey }), seeded({ numRuns: SAMPLE }))
    const bodies = histories.map((history) => history.map(({ operation, body }) => JSON.stringify([operation, body])))
    // Two draws seldom give the same body of these operations.
    const large = bodies.flatMap((texts) =>
      texts.flatMap((text, at) =>
        /create_feedback|submit_conversation/.test(text)
          ? [texts.slice(Math.max(0, at - MOST_BEFORE), at).includes(text)]
          : [],
      ),
    )
    const share = large.filter((isRepeated) => isRepeated).length / large.length
    assert.ok(share > 0.25, `only ${share} of the submissions are repeated`)
  })
})

describe('any history', () => {
  it('resolves every id that an answer may have had', () => {
    fc.assert(
      fc.property(submissionHistories({ hashKey, replays: true }), (history) => {
        const clerks = clerksAfter(hashKey, history)
        for (const submission of history) {
          const clerk = clerks.get(submission.workspaceId)!
          const answered = answeredContact(history, submission)
          if (answered !== undefined) assert.notEqual(findByOwnId(clerk.contacts, answered), undefined)
        }
      }),
      seeded(),
    )
  })
})

/** The contact in the answer to a feedback with an email and no id, by the seen submissions. */
const answeredContact = (history: readonly Submission[], submission: Submission): string | undefined => {
  if (submission.operation !== 'create_feedback' || submission.originalNumber !== undefined) return undefined
  const { body, workspaceId, seenPosition = 0 } = submission
  const email = emailKey(body.contact?.email ?? '')
  if (email === undefined || body.contactId != null || body.contact?.id != null) return undefined
  const seen = history.filter((former) => former.workspaceId === workspaceId && former.number <= seenPosition)
  const clerk = clerksAfter(hashKey, seen).get(workspaceId)
  const meant = clerk && emailMeans(clerk.contacts, email)
  return meant?.id ?? ownId({ hashKey, workspaceId }, 'contact_email', email)
}
