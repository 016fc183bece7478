import assert from 'node:assert/strict'
import { it } from 'node:test'
import { BODIES, type BodyName } from '../../api/openapi/schemas.ts'
import type { JsonObject } from '../../contract/json.ts'
import { checkBody } from '../../contract/check-body.ts'

// test/api/fields.test.ts has the message for each field.
it('unknown members are problems of a body in strict mode', () => {
  const strict = (name: BodyName, given: JsonObject): string[] => {
    assert.ok('valid' in checkBody(BODIES[name], given))
    const checked = checkBody(BODIES[name], given, { isStrict: true })
    if ('valid' in checked) return []
    for (const { message, path } of checked.problems)
      assert.ok(message.startsWith(`${path} is not a known member`), message)
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

it('members without an effect are problems of a body in strict mode', () => {
  const properties = { $Email: 'e', email: 'e', $CREATEDAT: 'x', plan: 1, $set: 1, Name: 'metadata' }
  const account = { id: 'a', properties: { $name: 'n', $domain: 'd', $Domain: 'x', email: 'metadata' } }
  const nothing = { sourceData: { plan: 1 }, name: ' ' }
  const cases: [BodyName, JsonObject, string[]][] = [
    [
      'ContactRecord',
      { id: 'c', properties, account },
      ['$Email', 'email', '$CREATEDAT'].map((key) => `properties.${key}`).concat('account.properties.$Domain'),
    ],
    ['AccountRecord', account, ['properties.$Domain']],
    [
      'FeedbackSubmission',
      { description: '', contact: {}, account: nothing, project: { name: '' } },
      ['contact', 'account', 'project'],
    ],
    ['FeedbackSubmission', { description: '', contact: { ...nothing, email: 'N/A' }, contactId: 'c' }, ['contact']],
    ['FeedbackSubmission', { description: '', contact: { name: 'n' }, account: { domain: 'd' }, project: null }, []],
    ['FeedbackSubmission', { description: '', contact: null, account: { id: '7' } }, []],
  ]
  for (const [name, given, paths] of cases) {
    assert.ok('valid' in checkBody(BODIES[name], given), JSON.stringify(given))
    const checked = checkBody(BODIES[name], given, { isStrict: true })
    assert.deepEqual('valid' in checked ? [] : checked.problems.map(({ path }) => path), paths)
  }
})

it('a blank source counts as absent, or as API in a conversation; in a purge it stays, so that it does not widen the purge', () => {
  const conversation = {
    id: 'c',
    createdAt: '2026-01-01T00:00:00Z',
    messages: [],
    contacts: [{ id: 'c', source: ' ' }],
  }
  for (const source of ['', ' ']) {
    const sourceOf = (name: BodyName, given: JsonObject): unknown => {
      const checked = checkBody(BODIES[name], { ...given, source })
      return 'valid' in checked ? (checked.valid as { source?: unknown }).source : checked.problems[0]!.path
    }
    assert.equal(sourceOf('FeedbackSubmission', { description: '' }), null)
    assert.equal(sourceOf('ContactRecord', { id: 'c' }), null)
    assert.equal(sourceOf('Conversation', conversation), 'API')
    assert.equal(sourceOf('PurgeRequest', { id: 'c' }), source)
  }
})
