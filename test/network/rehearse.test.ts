import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runCommand } from '../support/command.ts'

const rehearse = (...words: readonly string[]) =>
  runCommand({ environment: {} }, 'test/network/rehearse-command.ts', ...words)

describe('npm run rehearse', () => {
  // test/faults/restore.test.ts takes the steps of the rehearsal of a restore.
  it('lists the rehearsals if none of them is named', async () => {
    for (const words of [[], ['everything']]) {
      const { code, stderr } = await rehearse(...words)
      assert.equal(code, 1)
      assert.match(stderr, /partition, failover, restore/)
    }
  })
})
