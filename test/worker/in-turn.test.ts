import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { readyNow } from '../../queue/barrier.ts'
import { inTurn } from '../../worker/in-turn.ts'
import { seeded } from '../support/property-seed.ts'
import { until } from '../support/until.ts'

const WORKSPACE = '6f1b7c1e-52f1-4d0a-9c58-0c8f4f1f3a01'
const OTHER_WORKSPACE = '0b8a4a52-3f64-4b1e-8f0e-6a1c2d3e4f50'
type Item = { workspaceId: string; number: number; isPurge: boolean; queue: string }

/** A workspace's submissions, 1, 2, 3 and so on, some of them purges; whoever stores one settles it. */
const workspaceOf = (purges: readonly boolean[]) => {
  const open = new Set(purges.map((_, index) => index + 1))
  const isPurge = (number: number): boolean => purges[number - 1] === true
  return {
    items: purges.map((_, index): Item => ({
      workspaceId: WORKSPACE,
      number: index + 1,
      isPurge: isPurge(index + 1),
      queue: 'feedback',
    })),
    barrier: () => ({
      purges: [...open].filter(isPurge),
      outstanding: [...open].map((number) => ({ number, submissionId: String(number) })),
    }),
    settle: (numbers: readonly number[]) => numbers.forEach((number) => open.delete(number)),
    isOpen: (number: number): boolean => open.has(number),
    openBelow: (number: number): number[] => [...open].filter((other) => other < number),
  }
}

const bounds = {
  items: 4,
  waitMs: 0,
  busyFrom: 3,
  busyWaitMs: 1,
  enough: 2,
  parallel: 2,
  lookAgainAfterMs: 1,
  stuckAfterMs: 20,
  exchanged: 2,
}

describe('what is ready', () => {
  it('is everything when no purge is undecided', () => {
    const inHand = [3, 1, 2].map((number) => ({ number, isPurge: false }))
    assert.deepEqual(readyNow(inHand, { purges: [], outstanding: [] }), { ready: [1, 2, 3], missing: [] })
  })

  it('is what comes before a purge that somebody else has, and no purge while anything before it is elsewhere', () => {
    const { barrier } = workspaceOf([false, false, true, false, true, false])
    const have = (...numbers: number[]) => numbers.map((number) => ({ number, isPurge: number === 3 || number === 5 }))
    assert.deepEqual(readyNow(have(1, 3, 4, 6), barrier()), { ready: [1], missing: ['2'] })
    assert.deepEqual(readyNow(have(1, 2, 4), barrier()), { ready: [1, 2], missing: ['3'] })
    assert.deepEqual(readyNow(have(1, 2, 3, 4, 6), barrier()), { ready: [1, 2, 3, 4], missing: ['5'] })
    assert.deepEqual(readyNow(have(1, 2, 3, 4, 5, 6), barrier()), { ready: [1, 2, 3, 4, 5, 6], missing: [] })
  })
})

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
        const hands = Array.from({ length: workers }, () =>
          inTurn<Item, 'stored'>({
            readBarrier: async () => barrier(),
            bringForward: async () => new Map(),
            store: async (batch) => {
              const numbers = batch.map(({ number }) => number)
              for (const { number, isPurge } of batch) {
                const before = openBelow(number).filter((other) => !numbers.includes(other))
                const bad = isPurge ? before : before.filter((other) => purges[other - 1])
                assert.deepEqual(bad, [], `${number} in ${numbers.join(' ')}`)
              }
              await Promise.resolve()
              settle(numbers)
              return batch.map(() => 'stored')
            },
            conclude: async () => {},
            isPermanent: () => false,
            now: Date.now,
            bounds,
          }),
        )
        const shuffled = items.toSorted((a, b) => order[a.number - 1]! - order[b.number - 1]!)
        const results = await Promise.all(shuffled.map((item, index) => hands[index % workers]!(item)))
        assert.ok(results.every((result) => result === 'stored'))
        assert.ok(items.every(({ number }) => !isOpen(number)))
      }),
      seeded({ numRuns: 200 }),
    )
  })

  it('makes room for what a purge waits for and the queue has put back', async () => {
    const { items, barrier, settle } = workspaceOf([false, true, false, false, false])
    const [lost, ...inHand] = items
    let fetch = (): void => {}
    const storeInTurn = inTurn<Item, 'stored'>({
      readBarrier: async () => barrier(),
      bringForward: async (ids) => {
        assert.deepEqual(ids, ['1'])
        fetch()
        return new Map([['feedback', 1]])
      },
      store: async (batch) => {
        settle(batch.map(({ number }) => number))
        return batch.map(() => 'stored')
      },
      conclude: async () => {},
      isPermanent: () => false,
      now: Date.now,
      bounds,
    })
    const brought = new Promise<string>((resolve) => {
      fetch = () => void storeInTurn(lost!).then(resolve)
    })
    const results = await Promise.all(inHand.map(storeInTurn))
    assert.deepEqual(results, ['stored', 'stored', 'stored', 'given-back'])
    assert.equal(await brought, 'stored')
  })

  it('loses nothing of what it keeps when another round begins while room is being made', async () => {
    const { items, barrier, settle } = workspaceOf([false, true, false])
    const [elsewhere, ...inHand] = items
    const others = [1, 2].map((number) => ({ ...elsewhere!, workspaceId: OTHER_WORKSPACE, number }))
    const makingRoom = Promise.withResolvers<void>()
    const roomIsMade = Promise.withResolvers<void>()
    const storeInTurn = inTurn<Item, 'stored'>({
      readBarrier: async (workspaceId) => (workspaceId === WORKSPACE ? barrier() : { purges: [], outstanding: [] }),
      bringForward: async () => {
        makingRoom.resolve()
        await roomIsMade.promise
        return new Map()
      },
      store: async (batch) => {
        settle(batch.flatMap(({ workspaceId, number }) => (workspaceId === WORKSPACE ? [number] : [])))
        return batch.map(() => 'stored')
      },
      conclude: async () => {},
      isPermanent: () => false,
      now: Date.now,
      bounds,
    })
    const held = inHand.map(storeInTurn)
    await makingRoom.promise
    await Promise.all(others.map(storeInTurn))
    settle([1])
    roomIsMade.resolve()
    assert.deepEqual(await Promise.all(held), ['stored', 'stored'])
  })

  it('stores the others alone when one of a batch is bad', async () => {
    const { items, barrier, settle } = workspaceOf([false, false, false])
    const storeInTurn = inTurn<Item, 'stored'>({
      readBarrier: async () => barrier(),
      bringForward: async () => new Map(),
      store: async (batch) => {
        if (batch.some(({ number }) => number === 2)) throw new Error('bad')
        settle(batch.map(({ number }) => number))
        return batch.map(() => 'stored')
      },
      conclude: async () => {},
      isPermanent: () => true,
      now: Date.now,
      bounds,
    })
    const ends = await Promise.allSettled(items.map(storeInTurn))
    assert.deepEqual(
      ends.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
  })

  it('stores the next while what is stored is concluded, and only then tells who handed it in', async () => {
    const { items, settle } = workspaceOf([false, false])
    const [first, second] = items as [Item, Item]
    const concluded = Promise.withResolvers<void>()
    const stored: number[] = []
    const told: number[] = []
    const secondIsStored = Promise.withResolvers<void>()
    const storeInTurn = inTurn<Item, 'stored'>({
      readBarrier: async () => ({ purges: [], outstanding: [] }),
      bringForward: async () => new Map(),
      store: async (batch) => {
        stored.push(...batch.map(({ number }) => number))
        settle(stored)
        if (stored.length === 2) secondIsStored.resolve()
        return batch.map(() => 'stored')
      },
      conclude: ([item]) => (item === first ? concluded.promise : Promise.resolve()),
      isPermanent: () => false,
      now: Date.now,
      bounds: { ...bounds, items: 1, enough: 1, parallel: 1 },
    })
    const hand = (item: Item): Promise<number> => storeInTurn(item).then(() => told.push(item.number))
    const both = [hand(first), hand(second)]
    await secondIsStored.promise
    await both[1]
    assert.deepEqual({ stored, told }, { stored: [1, 2], told: [2] })
    concluded.resolve()
    await both[0]
    assert.deepEqual(told, [2, 1])
  })

  it('fails for those who handed in what could not be concluded', async () => {
    const { items } = workspaceOf([false])
    const storeInTurn = inTurn<Item, 'stored'>({
      readBarrier: async () => ({ purges: [], outstanding: [] }),
      bringForward: async () => new Map(),
      store: async (batch) => batch.map(() => 'stored'),
      conclude: () => Promise.reject(new Error('away')),
      isPermanent: () => true,
      now: Date.now,
      bounds,
    })
    await assert.rejects(storeInTurn(items[0]!), /away/)
  })

  it('begins a second statement when enough has come, while the first is still under way', async () => {
    const { items } = workspaceOf([false, false, false])
    const begun: number[][] = []
    const first = Promise.withResolvers<void>()
    const second = Promise.withResolvers<void>()
    const storeInTurn = inTurn<Item, 'stored'>({
      readBarrier: async () => ({ purges: [], outstanding: [] }),
      bringForward: async () => new Map(),
      store: async (batch) => {
        begun.push(batch.map(({ number }) => number))
        if (begun.length === 1) await first.promise
        else second.resolve()
        return batch.map(() => 'stored')
      },
      conclude: async () => {},
      isPermanent: () => false,
      now: Date.now,
      bounds: { ...bounds, enough: 2 },
    })
    const stored = [storeInTurn(items[0]!)]
    await until('the first is under way', async () => begun.length === 1)
    stored.push(storeInTurn(items[1]!))
    // Its own timer was set before this one, so it has gone off by then.
    await new Promise((resolve) => setTimeout(resolve, bounds.waitMs))
    await new Promise((resolve) => setImmediate(resolve))
    stored.push(storeInTurn(items[2]!))
    await second.promise
    assert.deepEqual(begun, [[1], [2, 3]])
    first.resolve()
    await Promise.all(stored)
  })

  it('gathers under load until enough has come, by weight', async () => {
    const { items } = workspaceOf([false, false])
    const [first, heavy] = items as [Item, Item]
    const storeInTurn = inTurn<Item & { weight?: number }, 'stored'>({
      readBarrier: async () => ({ purges: [], outstanding: [] }),
      bringForward: async () => new Map(),
      store: async (batch) => batch.map(() => 'stored'),
      conclude: async () => {},
      isPermanent: () => false,
      now: Date.now,
      bounds: { ...bounds, busyFrom: 1, busyWaitMs: 3_600_000, enough: 20 },
    })
    assert.equal(await storeInTurn(first), 'stored')
    assert.equal(await storeInTurn({ ...heavy, weight: 21 }), 'stored')
  })
})
