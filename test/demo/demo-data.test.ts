import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as v from 'valibot'
import { accountRecord, contactRecord } from '../../contract/contact-record.ts'
import { conversationRecord } from '../../contract/conversation-record.ts'
import { feedbackRecord } from '../../contract/feedback-record.ts'
import { createDemoData, readReviews } from './demo-data.ts'

const data = createDemoData(readReviews())

test('is the same each time, so that a second run replaces the first', () => {
  assert.deepEqual(createDemoData(readReviews()), data)
})

test('has the promised amount', () => {
  assert.equal(readReviews().length, 143)
  assert.equal(data.accounts.length, 15)
  assert.equal(data.contacts.length, 60)
  assert.equal(data.conversations.length, 8)
  assert.ok(data.feedback.length >= 300 && data.feedback.length < 500, String(data.feedback.length))
})

test('names each record once', () => {
  const sourceIds = data.feedback.map(({ body }) => body['sourceId'])
  assert.equal(new Set(sourceIds).size, sourceIds.length)
  const emails = data.contacts.map(({ body }) => (body['properties'] as { $email: string }).$email)
  assert.equal(new Set(emails).size, emails.length)
})

const schemas = {
  accounts: accountRecord,
  contacts: contactRecord,
  feedback: feedbackRecord,
  conversations: conversationRecord,
}
for (const [kind, schema] of Object.entries(schemas)) {
  test(`${kind} are what the service accepts`, () => {
    for (const { body } of data[kind as keyof typeof schemas]) {
      const { issues } = v.safeParse(schema, body)
      assert.equal(issues, undefined)
    }
  })
}

test('mixes the ways to name a contact and an account', () => {
  const named = (key: string) => data.feedback.filter(({ body }) => key in body).length
  assert.ok(named('contact') > 100 && named('contactId') > 100 && named('account') > 100 && named('accountId') > 100)
})
