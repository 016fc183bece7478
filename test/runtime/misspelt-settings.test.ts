import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { describeMisspelt, findMisspelt } from '../../runtime/misspelt-settings.ts'
import { SETTINGS } from '../../runtime/settings.ts'

const CLOSE = {
  CONVERSATION_PER_MINUTE: 'CONVERSATIONS_PER_MINUTE',
  SUBMISSION_PER_MINUTE: 'SUBMISSIONS_PER_MINUTE',
  DATABASE_URI: 'DATABASE_URL',
  REDIS_URI: 'REDIS_URL',
  HASHKEY: 'HASH_KEY',
  HASH_KEY_FIEL: 'HASH_KEY_FILE',
  'MAX-BODY-BYTES': 'MAX_BODY_BYTES',
  max_backlog: 'MAX_BACKLOG',
  WEBHOOKS_ALLOWED_HOST: 'WEBHOOK_ALLOWED_HOSTS',
}

describe('a variable whose name is close to a setting', () => {
  for (const [given, meant] of Object.entries(CLOSE)) {
    it(`${given} is named together with ${meant}`, () => {
      const found = findMisspelt({ [given]: 'x', HOME: '/root' })
      assert.deepEqual(found, [{ given, meant }])
      assert.equal(describeMisspelt(found[0]!), `${given} is not a setting, and is ignored. Did you mean ${meant}?`)
    })
  }

  it('is no variable that is a setting, empty, of another program, or documented', () => {
    const documented = readFileSync(new URL('../../docs/environment.md', import.meta.url), 'utf8')
    const names = [...documented.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name!)
    const others = [
      'HOME',
      'HOSTNAME',
      'HOSTTYPE',
      'PATH',
      'POST',
      'PORTS',
      'USER',
      'SHELL',
      'LOGNAME',
      'PGPORT',
      'NODE_ENV',
    ]
    const all = [...Object.keys(SETTINGS), ...names, ...others]
    assert.ok(all.length > 60)
    assert.deepEqual(findMisspelt(Object.fromEntries(all.map((name) => [name, 'x']))), [])
    assert.deepEqual(findMisspelt({ HASHKEY: '' }), [])
  })
})
