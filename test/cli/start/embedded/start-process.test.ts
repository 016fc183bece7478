import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runToEnd } from '../../../../cli/start/embedded/start-process.ts'

describe('a program that runs to its end', () => {
  it('may end before it has read its input', async () => {
    const input = 'x'.repeat(1_000_000)
    const { how, output } = await runToEnd(['sh', '-c', 'exec <&-; echo refused; exit 3'], {}, input)
    assert.deepEqual({ how, output }, { how: 3, output: 'refused\n' })
  })
})
