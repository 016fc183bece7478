import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runCommand } from '../support/command.ts'

const rehearse = (...words: readonly string[]) =>
  runCommand({ environment: {} }, 'test/network/rehearse-command.ts', ...words)

describe('npm run rehearse', () => {
  it('restores its own Postgres, and prints that nothing is lost', async () => {
    const { code, stdout, stderr } = await rehearse('restore')
    assert.equal(code, 0, stderr)
    assert.match(stdout, /of \d+ stored before that moment 0 lost, 0 doubled; of \d+ confirmed in all \d+ are lost/)
    assert.match(stdout, /0 traces of purged contacts/)
  })

  it('lists its rehearsals when it is asked for another one', async () => {
    for (const words of [[], ['everything']]) {
      const { code, stderr } = await rehearse(...words)
      assert.equal(code, 1)
      assert.match(stderr, /partition, failover, restore/)
    }
  })
})
