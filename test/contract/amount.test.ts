import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { contactRecord } from '../../contract/contact-record.ts'
import { conversationRecord } from '../../contract/conversation-record.ts'
import { feedbackRecord } from '../../contract/feedback-record.ts'
import type { JsonValue } from '../../contract/json.ts'
import { checkBody } from '../../contract/problem.ts'

const conversation = (rating: number): JsonValue => ({
  id: 'c',
  source: 's',
  createdAt: '2026-01-01T00:00:00Z',
  contacts: [],
  messages: [],
  rating,
})

describe('a rating or a contract value', () => {
  const problemsOf = (value: number): Record<string, string[]> =>
    Object.fromEntries(
      Object.entries({
        rating: checkBody(feedbackRecord, { description: 'x', rating: value }),
        'account.contractValue': checkBody(feedbackRecord, { description: 'x', account: { contractValue: value } }),
        'properties.$contractValue': checkBody(contactRecord, { id: 'c', properties: { $contractValue: value } }),
        'account.properties.$contractValue': checkBody(contactRecord, {
          id: 'c',
          account: { id: 'a', properties: { $name: 'n', $domain: 'd', $contractValue: value } },
        }),
        'rating of a conversation': checkBody(conversationRecord, conversation(value)),
      }).map(([place, checked]) => [
        place,
        'problems' in checked ? checked.problems.map(({ message }) => message) : [],
      ]),
    )

  it('may have up to 1e15 on both sides of zero', () => {
    for (const value of [1e15, -1e15, 0, 4.5, 5e-324])
      assert.deepEqual(Object.values(problemsOf(value)).flat(), [], String(value))
  })

  it('is refused beyond, where it would make every sum and average useless', () => {
    for (const value of [1e15 + 1, -1e16, 1e160, 1e308]) {
      for (const [place, problems] of Object.entries(problemsOf(value))) {
        const path = place === 'rating of a conversation' ? 'rating' : place
        assert.deepEqual(problems, [`${path} must be a number from -1e+15 to 1e+15`], String(value))
      }
    }
  })

  it('is told once when double precision cannot keep it', () => {
    for (const problems of Object.values(problemsOf(Infinity))) {
      assert.equal(problems.length, 1)
      assert.match(problems[0]!, /double precision keeps/)
    }
  })
})
