import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isNoNoun, singular } from '../../tagger/word-endings.ts'

const pairs = [
  ['apps', 'app'],
  ['batteries', 'battery'],
  ['movies', 'movie'],
  ['boxes', 'box'],
  ['addresses', 'address'],
  ['pages', 'page'],
  ['purchases', 'purchase'],
  ['statuses', 'status'],
  ['houses', 'house'],
  ['sizes', 'size'],
  ['status', 'status'],
  ['access', 'access'],
  ['analysis', 'analysis'],
  ['sms', 'sms'],
  ['gps', 'gps'],
  ['bus', 'bus'],
  ['screen', 'screen'],
] as const
for (const [plural, expected] of pairs) {
  test(`${plural} has the singular ${expected}`, () => {
    assert.equal(singular(plural), expected)
  })
}

test('a verb with -ing, -ed or -es is no noun, even if its root has lost an e or doubled a letter', () => {
  const verbs = ['exporting', 'running', 'making', 'added', 'stopped', 'deleting', 'crashes']
  const nouns = ['exports', 'screens', 'battery', 'apps']
  assert.deepEqual(
    [...verbs, ...nouns].filter((word) => isNoNoun('en', word)),
    verbs,
  )
})
