import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as v from 'valibot'
import { accountRecord, contactRecord } from '../../contract/contact-record.ts'
import { conversationRecord } from '../../contract/conversation-record.ts'
import { feedbackRecord } from '../../contract/feedback-record.ts'
import { createDemoData, readReviews } from '../../demo/demo-data.ts'

const NOW = new Date('2026-03-31T12:00:00Z')
const data = createDemoData(readReviews(), NOW)

test('the demo makes the same records for the same time', () => {
  assert.deepEqual(createDemoData(readReviews(), NOW), data)
})

const schemas = {
  accounts: accountRecord,
  contacts: contactRecord,
  feedback: feedbackRecord,
  conversations: conversationRecord,
}
for (const [kind, schema] of Object.entries(schemas)) {
  test(`the schema of the API accepts the ${kind} of the demo`, () => {
    for (const { body } of data[kind as keyof typeof schemas]) {
      const { issues } = v.safeParse(schema, body)
      assert.equal(issues, undefined)
    }
  })
}
