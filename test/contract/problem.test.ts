import assert from 'node:assert/strict'
import { it } from 'node:test'
import { BODIES, type BodyName } from '../../api/openapi/body-schemas.ts'
import type { JsonObject } from '../../contract/json.ts'
import { checkBody } from '../../contract/problem.ts'

// The message for each field is in test/api/fields.test.ts.
it('unknown members are problems of a body as well, if none is to be ignored', () => {
  const strict = (name: BodyName, given: JsonObject): string[] => {
    assert.ok('valid' in checkBody(BODIES[name], given))
    const checked = checkBody(BODIES[name], given, { isStrict: true })
    if ('valid' in checked) return []
    for (const { message, path } of checked.problems) assert.ok(message.startsWith(`${path} is no member`), message)
    return checked.problems.map(({ path }) => path)
  }
  const message = { id: 'm', incoming: true, content: '', createdAt: '2026-01-01T00:00:00Z', sent: 1 }
  const account = { id: 'a', name: 'x', properties: { $name: 'n', $domain: 'd', plan: { deep: 1 } } }
  const contact = { id: 'c', account, properties: { $email: 'e', plan: 1 }, email: 'e' }
  const conversation = {
    id: 'c',
    source: 's',
    createdAt: message.createdAt,
    messages: [message],
    contacts: [contact],
  }
  assert.deepEqual(
    strict('FeedbackSubmission', { description: '', contact: { emial: 'x', sourceData: { any: 1 } }, Tags: [] }),
    ['contact.emial', 'Tags'],
  )
  assert.deepEqual(strict('Conversation', { ...conversation, Title: '' }), [
    'messages.0.sent',
    'contacts.0.account.name',
    'contacts.0.email',
    'Title',
  ])
  assert.deepEqual(strict('PurgeRequest', { id: 'c', sources: [] }), ['sources'])
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`x${index}`, 1]))
  assert.equal(strict('ContactRecord', { id: 'c', ...many }).length, 100)
})
