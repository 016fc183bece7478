import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createReadPermits } from '../../api/reads/read-permits.ts'

describe('the permits of reads', () => {
  it('go to a bounded number of reads of a workspace at a time, in their order', async () => {
    const permits = createReadPermits(2)
    const ends = Array.from({ length: 4 }, () => Promise.withResolvers<void>())
    const begun: number[] = []
    const reads = ends.map(({ promise }, at) =>
      permits.run('a', async () => {
        begun.push(at)
        await promise
        return at
      }),
    )
    assert.equal(await permits.run('b', async () => 'another workspace'), 'another workspace')
    assert.deepEqual(begun, [0, 1])
    ends[1]!.resolve()
    await reads[1]
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(begun, [0, 1, 2])
    for (const { resolve } of ends) resolve()
    assert.deepEqual(await Promise.all(reads), [0, 1, 2, 3])
  })

  it('are refused while the most answers are being written, and return when one is written', async () => {
    const permits = createReadPermits(1)
    const written = permits.take('a')
    assert.equal(await permits.run('a', async () => 'read'), undefined)
    written()
    assert.equal(await permits.run('a', async () => 'read'), 'read')
  })
})
