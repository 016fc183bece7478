import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readyNow } from '../../queue/barrier.ts'

describe('what is ready', () => {
  it('is everything when no purge is undecided', () => {
    const inHand = [3, 1, 2].map((number) => ({ number, isPurge: false }))
    assert.deepEqual(readyNow(inHand, { purges: [], outstanding: [] }), { ready: [1, 2, 3], missing: [] })
  })

  it('is what comes before a purge that somebody else has, and no purge while anything before it is elsewhere', () => {
    const outstanding = [1, 2, 3, 4, 5, 6].map((number) => ({ number, batchId: String(number) }))
    const barrier = { purges: [3, 5], outstanding }
    const have = (...numbers: number[]) => numbers.map((number) => ({ number, isPurge: number === 3 || number === 5 }))
    assert.deepEqual(readyNow(have(1, 3, 4, 6), barrier), { ready: [1], missing: ['2'] })
    assert.deepEqual(readyNow(have(1, 2, 4), barrier), { ready: [1, 2], missing: ['3'] })
    assert.deepEqual(readyNow(have(1, 2, 3, 4, 6), barrier), { ready: [1, 2, 3, 4], missing: ['5'] })
    assert.deepEqual(readyNow(have(1, 2, 3, 4, 5, 6), barrier), { ready: [1, 2, 3, 4, 5, 6], missing: [] })
  })
})
