import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createReadingTurns } from '../../api/reads/reading-turns.ts'

describe('the turns of reads', () => {
  it('go to a bounded number of reads of a workspace at a time, in their order', async () => {
    const turns = createReadingTurns(2)
    const ends = Array.from({ length: 4 }, () => Promise.withResolvers<void>())
    const begun: number[] = []
    const reads = ends.map(({ promise }, at) =>
      turns.take('a', async () => {
        begun.push(at)
        await promise
        return at
      }),
    )
    assert.equal(await turns.take('b', async () => 'another workspace'), 'another workspace')
    assert.deepEqual(begun, [0, 1])
    ends[1]!.resolve()
    await reads[1]
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(begun, [0, 1, 2])
    for (const { resolve } of ends) resolve()
    assert.deepEqual(await Promise.all(reads), [0, 1, 2, 3])
  })

  it('are refused while the most answers are being written, and return when one is written', async () => {
    const turns = createReadingTurns(1)
    const written = turns.hold('a')
    assert.equal(await turns.take('a', async () => 'read'), undefined)
    written()
    assert.equal(await turns.take('a', async () => 'read'), 'read')
  })
})
