import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { inTurn, type Turn } from '../../worker/in-turn.ts'
import type { Placed } from '../../worker/lanes.ts'
import { seeded } from '../support/property-seed.ts'
import { until } from '../support/until.ts'

const WORKSPACE = '6f1b7c1e-52f1-4d0a-9c58-0c8f4f1f3a01'
const OTHER_WORKSPACE = '0b8a4a52-3f64-4b1e-8f0e-6a1c2d3e4f50'
const NOTHING_WAITS = { purges: [], outstanding: [] }

const placed = (number: number, more: Partial<Placed> = {}): Placed => ({
  workspaceId: WORKSPACE,
  number,
  isPurge: false,
  isAfterPurge: false,
  submissions: 1,
  weight: 1,
  isBacklog: false,
  isSuspect: false,
  ...more,
})

/** A workspace's batches, 1, 2, 3 and so on, some of them purges; whoever stores one settles it. */
const workspaceOf = (purges: readonly boolean[]) => {
  const open = new Set(purges.map((_, index) => index + 1))
  const isPurge = (number: number): boolean => purges[number - 1] === true
  return {
    items: purges.map((_, index) =>
      placed(index + 1, { isPurge: isPurge(index + 1), isAfterPurge: purges.slice(0, index).includes(true) }),
    ),
    barrier: () => ({
      purges: [...open].filter(isPurge),
      outstanding: [...open].map((number) => ({ number, batchId: String(number) })),
    }),
    settle: (numbers: readonly number[]) => numbers.forEach((number) => open.delete(number)),
    isOpen: (number: number): boolean => open.has(number),
    openBelow: (number: number): number[] => [...open].filter((other) => other < number),
  }
}

const bounds = {
  lanes: 3,
  mostWeight: 4,
  budgetMs: 1_000,
  waitMs: 1,
  busyFrom: 3,
  busyWaitMs: 1,
  enough: 2,
  least: { submissions: 1, weight: 1 },
  lookAgainAfterMs: 1,
  lookAgainWithinMs: 4,
  stuckAfterMs: 20,
  taken: 2,
}

type Given = Parameters<typeof inTurn<Placed, 'stored'>>[0]

const turnWith = ({
  bounds: own,
  ...given
}: Partial<Omit<Given, 'bounds'>> & { bounds?: Partial<Given['bounds']> } = {}): Turn<Placed, 'stored'> =>
  inTurn<Placed, 'stored'>({
    readBarrier: async () => NOTHING_WAITS,
    take: () => assert.fail('nothing is missing'),
    store: async (batch) => batch.map(() => 'stored'),
    conclude: async () => {},
    isFailure: () => false,
    onLaneTime: () => {},
    now: Date.now,
    ...given,
    bounds: { ...bounds, ...own },
  })

const numbersOf = (items: readonly Placed[]): number[] => items.map(({ number }) => number)

describe('storing in turn', () => {
  const histories = fc.record({
    purges: fc.array(fc.boolean(), { minLength: 1, maxLength: 24 }),
    order: fc.array(fc.nat(), { minLength: 24, maxLength: 24 }),
    workers: fc.integer({ min: 1, max: 3 }),
  })

  it('decides each purge after all that came before it and before all that came after it, whoever has what', async () => {
    await fc.assert(
      fc.asyncProperty(histories, async ({ purges, order, workers }) => {
        const { items, barrier, settle, isOpen, openBelow } = workspaceOf(purges)
        const store = async (batch: readonly Placed[]): Promise<'stored'[]> => {
          const numbers = numbersOf(batch)
          for (const { number, isPurge } of batch) {
            const before = openBelow(number).filter((other) => !numbers.includes(other))
            const bad = isPurge ? before : before.filter((other) => purges[other - 1])
            assert.deepEqual(bad, [], `${number} in ${numbers.join(' ')}`)
          }
          await Promise.resolve()
          settle(numbers)
          return batch.map(() => 'stored')
        }
        // Each has some of the batches in hand already, so none takes any.
        const take = (): void => {}
        const hands = Array.from({ length: workers }, () =>
          turnWith({ readBarrier: async () => barrier(), take, store }),
        )
        const shuffled = items.toSorted((a, b) => order[a.number - 1]! - order[b.number - 1]!)
        const results = await Promise.all(shuffled.map((item, index) => hands[index % workers]!.handIn(item)))
        assert.ok(results.every((result) => result === 'stored'))
        assert.ok(items.every(({ number }) => !isOpen(number)))
      }),
      seeded({ numRuns: 200 }),
    )
  })

  it('takes what a purge waits for and nobody brings, the lowest first and a few at a time', async () => {
    const { items, barrier, settle } = workspaceOf([false, false, false, true, false])
    const missing = new Map(items.slice(0, 3).map((item) => [String(item.number), item]))
    const taken: string[][] = []
    const brought: Promise<unknown>[] = []
    const turn = turnWith({
      readBarrier: async () => barrier(),
      take: (workspaceId, batchIds) => {
        assert.equal(workspaceId, WORKSPACE)
        taken.push([...batchIds])
        brought.push(...batchIds.map((batchId) => turn.handIn(missing.get(batchId)!)))
      },
      store: async (batch) => {
        settle(numbersOf(batch))
        return batch.map(() => 'stored')
      },
    })
    assert.deepEqual(await Promise.all(items.slice(3).map(turn.handIn)), ['stored', 'stored'])
    assert.deepEqual(await Promise.all(brought), ['stored', 'stored', 'stored'])
    assert.deepEqual(taken, [['1', '2'], ['3']])
  })

  it('takes nothing as long as something of the workspace moves', async () => {
    const { items, barrier, settle } = workspaceOf([...Array.from({ length: 6 }, () => false), true])
    let ms = 0
    const turn = turnWith({
      readBarrier: async () => {
        // Each look takes a third of the time after which a worker is stuck.
        ms += bounds.stuckAfterMs / 3
        return barrier()
      },
      store: async (batch) => {
        settle(numbersOf(batch))
        return batch.map(() => 'stored')
      },
      now: () => ms,
    })
    const purge = turn.handIn(items.at(-1)!)
    for (const item of items.slice(1, -1)) assert.equal(await turn.handIn(item), 'stored')
    assert.deepEqual([await turn.handIn(items[0]!), await purge], ['stored', 'stored'])
  })

  it('gives back all that waits and all that comes while it is closed, but for a suspect', async () => {
    const { items, barrier, settle } = workspaceOf([false, true, false])
    const [first, ...waiting] = items
    const turn = turnWith({
      readBarrier: async (workspaceId) => (workspaceId === WORKSPACE ? barrier() : NOTHING_WAITS),
      take: () => {},
      store: async (batch) => {
        settle(batch.flatMap(({ workspaceId, number }) => (workspaceId === WORKSPACE ? [number] : [])))
        return batch.map(() => 'stored')
      },
    })
    const held = waiting.map(turn.handIn)
    turn.close()
    assert.deepEqual(await Promise.all(held), ['given-back', 'given-back'])
    assert.equal(await turn.handIn(placed(7, { workspaceId: OTHER_WORKSPACE })), 'given-back')
    assert.equal(await turn.handIn({ ...items[1]!, isSuspect: true }), 'given-back', 'it would wait for others')
    assert.equal(await turn.handIn({ ...first!, isSuspect: true }), 'stored')
    turn.open()
    assert.equal(await turn.handIn(placed(8, { workspaceId: OTHER_WORKSPACE })), 'stored')
    assert.deepEqual(await Promise.all(waiting.map(turn.handIn)), ['stored', 'stored'])
  })

  it('gives back what a round has in hand when it is closed meanwhile, if that is not ready', async () => {
    const { items, barrier } = workspaceOf([false, true])
    const looking = Promise.withResolvers<void>()
    const told = Promise.withResolvers<void>()
    const turn = turnWith({
      readBarrier: async () => {
        looking.resolve()
        await told.promise
        return barrier()
      },
      take: () => {},
    })
    const held = turn.handIn(items[1]!)
    await looking.promise
    turn.close()
    told.resolve()
    assert.equal(await held, 'given-back')
  })

  it('fails for all of a round that could not be stored, and goes on with the next', async () => {
    let isAway = true
    const turn = turnWith({
      store: async (batch) => {
        if (isAway) throw new Error('away')
        return batch.map(() => 'stored')
      },
    })
    const ends = await Promise.allSettled([1, 2].map((number) => turn.handIn(placed(number))))
    assert.deepEqual(
      ends.map(({ status }) => status),
      ['rejected', 'rejected'],
    )
    isAway = false
    assert.equal(await turn.handIn(placed(1)), 'stored')
  })

  it('fails for all that it holds when Redis does not say what may be stored', async () => {
    const turn = turnWith({ readBarrier: () => Promise.reject(new Error('no Redis')) })
    await assert.rejects(turn.handIn(placed(2, { isAfterPurge: true })), /no Redis/)
  })

  it('stores the next while what is stored is concluded, and only then tells who handed it in', async () => {
    const [first, second] = [placed(1), placed(2)]
    const concluded = Promise.withResolvers<void>()
    const stored: number[] = []
    const told: number[] = []
    const secondIsStored = Promise.withResolvers<void>()
    const turn = turnWith({
      store: async (batch) => {
        stored.push(...numbersOf(batch))
        if (stored.length === 2) secondIsStored.resolve()
        return batch.map(() => 'stored')
      },
      conclude: ([item]) => (item === first ? concluded.promise : Promise.resolve()),
      bounds: { mostWeight: 1, enough: 1, lanes: 1 },
    })
    const hand = (item: Placed): Promise<number> => turn.handIn(item).then(() => told.push(item.number))
    const both = [hand(first), hand(second)]
    await secondIsStored.promise
    await both[1]
    assert.deepEqual({ stored, told }, { stored: [1, 2], told: [2] })
    concluded.resolve()
    await both[0]
    assert.deepEqual(told, [2, 1])
  })

  it('fails for those who handed in what could not be concluded', async () => {
    const turn = turnWith({ conclude: () => Promise.reject(new Error('away')) })
    await assert.rejects(turn.handIn(placed(1)), /away/)
  })

  it('begins a second statement when enough has come, while the first is still under way', async () => {
    const begun: number[][] = []
    const first = Promise.withResolvers<void>()
    const second = Promise.withResolvers<void>()
    const turn = turnWith({
      store: async (batch) => {
        begun.push(numbersOf(batch))
        if (begun.length === 1) await first.promise
        else second.resolve()
        return batch.map(() => 'stored')
      },
    })
    const stored = [turn.handIn(placed(1))]
    await until('the first is under way', async () => begun.length === 1)
    stored.push(turn.handIn(placed(2)))
    // Its own timer was set before this one, so it has gone off by then.
    await new Promise((resolve) => setTimeout(resolve, bounds.waitMs))
    await new Promise((resolve) => setImmediate(resolve))
    stored.push(turn.handIn(placed(3)))
    await second.promise
    assert.deepEqual(begun, [[1], [2, 3]])
    first.resolve()
    await Promise.all(stored)
  })

  it('tells how long workspaces had a lane, each by its weight, also when nothing could be stored', async () => {
    const heard: [string, number][] = []
    let ms = 0
    const turn = turnWith({
      now: () => ms,
      store: async () => {
        ms += 80
        throw new Error('too late')
      },
      onLaneTime: (...one) => heard.push(one),
      bounds: { enough: 8, mostWeight: 8 },
    })
    const items = [placed(1), placed(2, { workspaceId: OTHER_WORKSPACE, weight: 6 }), placed(3)]
    await Promise.allSettled(items.map(turn.handIn))
    assert.deepEqual(heard, [
      [WORKSPACE, 0.02],
      [OTHER_WORKSPACE, 0.06],
    ])
  })

  it('gathers under load until enough has come, by weight', async () => {
    const turn = turnWith({ bounds: { busyFrom: 1, busyWaitMs: 3_600_000, enough: 20 } })
    assert.equal(await turn.handIn(placed(1)), 'stored')
    assert.equal(await turn.handIn(placed(2, { weight: 21 })), 'stored')
  })
})
