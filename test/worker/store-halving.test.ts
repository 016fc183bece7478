import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { storeHalving } from '../../worker/store-halving.ts'
import { seeded } from '../support/property-seed.ts'

const BAD = new Error('bad')

/** Stores numbers together, unless one of them is bad. */
const storeOf = (isBad: (thing: number) => boolean) => {
  const stored: number[] = []
  const setAside: number[] = []
  const calls: number[] = []
  const settled: number[] = []
  const store = async (things: readonly number[]): Promise<string[]> => {
    calls.push(things.length)
    if (things.some(isBad)) throw BAD
    stored.push(...things)
    settled.push(...things)
    return things.map((thing) => `stored ${thing}`)
  }
  const steps = {
    store,
    isOver: (error: unknown) => error !== BAD,
    alone: async (thing: number, error: unknown) => {
      assert.equal(error, BAD)
      setAside.push(thing)
      settled.push(thing)
      return `dead ${thing}`
    },
    leftOut: () => undefined,
  }
  return { stored, setAside, calls, settled, steps }
}

describe('storing by halves', () => {
  it('is one statement when nothing is bad', async () => {
    const { calls, steps } = storeOf(() => false)
    assert.deepEqual(await storeHalving([1, 2, 3], steps), ['stored 1', 'stored 2', 'stored 3'])
    assert.deepEqual(calls, [3])
  })

  it('sets aside the bad ones alone, keeps the order, and asks little more than once for each halving', async () => {
    const things = fc.array(fc.boolean(), { minLength: 1, maxLength: 70 })
    await fc.assert(
      fc.asyncProperty(things, async (bad) => {
        const numbers = bad.map((_, at) => at)
        const { stored, setAside, calls, settled, steps } = storeOf((thing) => bad[thing]!)
        const results = await storeHalving(numbers, steps)
        assert.deepEqual(
          results,
          numbers.map((thing) => `${bad[thing]! ? 'dead' : 'stored'} ${thing}`),
        )
        assert.deepEqual(settled, numbers, 'what came before a thing is settled before it')
        assert.deepEqual(
          [stored, setAside],
          [numbers.filter((thing) => !bad[thing]), numbers.filter((thing) => bad[thing])],
        )
        const halvings = Math.ceil(Math.log2(numbers.length))
        assert.ok(calls.length <= 1 + 2 * halvings * setAside.length, `${calls.length} calls`)
      }),
      seeded({ numRuns: 300 }),
    )
  })

  it('throws a fault after which nothing more is tried', async () => {
    const away = new Error('away')
    let calls = 0
    const steps = {
      store: async (): Promise<string[]> => {
        calls++
        throw away
      },
      isOver: (error: unknown) => error === away,
      alone: () => assert.fail('nothing is bad'),
      leftOut: () => undefined,
    }
    await assert.rejects(storeHalving([1, 2, 3], steps), away)
    assert.equal(calls, 1)
  })

  it('tries nothing more of what may not come after one that failed', async () => {
    const { stored, steps } = storeOf((thing) => thing === 4)
    const failed: number[] = []
    const results = await storeHalving([1, 2, 3, 4, 5, 6, 7, 8], {
      ...steps,
      alone: async (thing) => {
        failed.push(thing)
        return 'failed'
      },
      leftOut: (thing) => (failed.some((other) => other % 2 === thing % 2) ? 'left out' : undefined),
    })
    assert.deepEqual(stored, [1, 2, 3, 5, 7])
    assert.deepEqual(results.slice(3), ['failed', 'stored 5', 'left out', 'stored 7', 'left out'])
  })

  it('throws when a bad one cannot be set aside', async () => {
    const { steps } = storeOf((thing) => thing === 2)
    const alone = (): Promise<string> => Promise.reject(new Error('no room'))
    await assert.rejects(storeHalving([1, 2, 3], { ...steps, alone }), /no room/)
  })
})
