import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as v from 'valibot'
import { accountRecord, contactRecord } from '../../contract/contact-record.ts'
import { conversationRecord } from '../../contract/conversation-record.ts'
import { feedbackRecord } from '../../contract/feedback-record.ts'
import { createDemoData, readReviews } from '../../demo/demo-data.ts'
import { ratingOf } from '../../demo/rating-of.ts'
import { RELEASED_DAYS_AGO } from '../../demo/release-story.ts'

const NOW = new Date('2026-03-31T12:00:00Z')
const data = createDemoData(readReviews(), NOW)

test('is the same each time, so that a second run replaces the first', () => {
  assert.deepEqual(createDemoData(readReviews(), NOW), data)
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

const daysAgo = (body: Readonly<Record<string, unknown>>): number =>
  (NOW.getTime() - Date.parse(String(body['createdAt']))) / 86_400_000

test('is spread over months, and nothing of it is yet to come', () => {
  const ages = data.feedback.map(({ body }) => daysAgo(body))
  assert.ok(Math.min(...ages) >= 0 && Math.max(...ages) > 170)
  for (let month = 0; month < 6; month++) {
    const inMonth = ages.filter((age) => age >= month * 30 && age < month * 30 + 30).length
    assert.ok(inMonth >= 40, `${inMonth} in month ${month}`)
  }
})

test('has ratings that fit the texts', () => {
  assert.equal(ratingOf('Great picture, easy to use, I love it'), 5)
  assert.equal(ratingOf('Junk. It broke, and support is useless'), 1)
  assert.equal(ratingOf('not good, the menu is confusing'), 1)
  assert.equal(ratingOf('It has three buttons'), 3)
  const ratings = data.feedback.map(({ body }) => Number(body['rating']))
  for (const rating of [1, 2, 3, 4, 5]) assert.ok(ratings.filter((one) => one === rating).length >= 20, String(rating))
})

test('has accounts of very different value', () => {
  const values = data.accounts.map(({ body }) => (body['properties'] as { $contractValue: number }).$contractValue)
  assert.ok(Math.max(...values) > 50 * Math.min(...values))
})

test('tells of a release that broke something: few spoke of it before, many do since, and all of them complain', () => {
  const says = data.feedback.filter(({ body }) => /firmware update/.test(String(body['description'])))
  const about = says.filter(({ body }) => String(body['sourceId']).startsWith('release:'))
  assert.ok(3 * (says.length - about.length) < about.length, 'reviews of half a year say it less often')
  assert.ok(about.filter(({ body }) => daysAgo(body) < 7).length >= 20)
  for (const { body } of about) {
    assert.ok(daysAgo(body) < RELEASED_DAYS_AGO + 1)
    assert.ok(Number(body['rating']) <= 3, String(body['description']))
  }
})
