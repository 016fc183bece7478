import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { type Lane, type LaneBounds, nextStatement, type Placed } from '../../worker/lanes.ts'
import { type Strides, stridesWithin } from '../../worker/strides.ts'
import { seeded } from '../support/property-seed.ts'

const bounds: LaneBounds = {
  lanes: 3,
  mostWeight: 10,
  waitMs: 5,
  busyFrom: 3,
  busyWaitMs: 50,
  enough: 6,
  least: { submissions: 2, weight: 3 },
}
const BUDGET_MS = 100

const placed = (workspaceId: string, number: number, more: Partial<Placed> = {}): Placed => ({
  workspaceId,
  number,
  isPurge: false,
  isAfterPurge: false,
  submissions: 1,
  weight: 1,
  isBacklog: false,
  isSuspect: false,
  ...more,
})
const waiting = (...items: Placed[]) => items.map((item) => ({ item, since: 0 }))
const laneOf = (workspaceIds: string[], more: Partial<Lane> = {}): Lane => ({
  items: [],
  workspaceIds: new Set(workspaceIds),
  isApart: false,
  beganAt: 0,
  ...more,
})
const strides = (...slow: string[]): Strides => {
  const all = stridesWithin({ mostWeight: bounds.mostWeight, budgetMs: BUDGET_MS }, () => 0)
  for (const workspaceId of slow)
    for (let time = 0; time < 2; time++) all.took([{ workspaceId, weight: 8 }], 5 * BUDGET_MS)
  return all
}
const next = (
  items: Placed[],
  { lanes = [] as Lane[], slow = [] as string[], now = bounds.waitMs, gatherUntil = 0 } = {},
) => {
  const statement = nextStatement(waiting(...items), { lanes, strides: strides(...slow), bounds, now, gatherUntil })
  if (statement === undefined || 'lookAt' in statement) return statement
  return statement.held.map(({ item }) => `${item.workspaceId}${item.number}`)
}

describe('the next statement', () => {
  it('is shared by workspaces that have little waiting, the lowest number first', () => {
    assert.deepEqual(next([placed('b', 3), placed('a', 2), placed('c', 1)]), ['c1', 'a2', 'b3'])
  })

  it('waits for company for a moment, and for longer after one with many, unless enough has come', () => {
    const one = [placed('a', 1)]
    assert.deepEqual(next(one, { now: 1 }), { lookAt: bounds.waitMs })
    assert.deepEqual(next(one, { gatherUntil: 40 }), { lookAt: 40 })
    const enough = [placed('a', 1, { weight: bounds.enough })]
    assert.deepEqual(next(enough, { now: 1, gatherUntil: 40 }), ['a1'])
  })

  it('has as many batches as it has room for, by weight, and a large one alone', () => {
    const items = [4, 5, 2, 11, 3].map((weight, at) => placed('a', at + 1, { weight }))
    const together: (string[] | undefined)[] = []
    for (let left = items; left.length > 0; left = left.slice((together.at(-1) as string[]).length)) {
      together.push(next(left, { now: 1_000 }) as string[])
    }
    assert.deepEqual(together, [['a1', 'a2'], ['a3'], ['a4'], ['a5']])
  })

  it('is apart for a workspace with a backlog, and for one that was slow, with a shorter stride', () => {
    const items = [1, 2, 3, 4, 5].map((number) => placed('a', number))
    const backlog = items.map((item) => ({ ...item, isBacklog: true }))
    assert.deepEqual(next([...backlog, placed('b', 6)]), ['a1', 'a2', 'a3', 'a4', 'a5'])
    // The stride is 1.6 now, and so much is stored at least.
    assert.deepEqual(next([...items, placed('b', 6)], { slow: ['a'] }), ['a1', 'a2'])
    const [many, ...others] = items
    assert.deepEqual(next([{ ...many!, submissions: 5 }, ...others, placed('b', 6)], { slow: ['a'] }), ['a1'])
    const heavy = items.map((item) => ({ ...item, weight: bounds.least.weight }))
    assert.deepEqual(next([...heavy, placed('b', 6)], { slow: ['a'] }), ['a1'])
  })

  it('is, of those apart, that of the workspace that took least of the lanes lately', () => {
    const all = strides()
    all.took([{ workspaceId: 'a', weight: 8 }], BUDGET_MS)
    const items = [placed('a', 1, { isBacklog: true }), placed('b', 2, { isBacklog: true })]
    const statement = nextStatement(waiting(...items), { lanes: [], strides: all, bounds, now: 5, gatherUntil: 0 })
    assert.ok(statement && 'held' in statement)
    assert.equal(statement.held[0]!.item.workspaceId, 'b')
  })

  it('is of no workspace that has one under way, and of none that is apart in the last lane', () => {
    const items = [placed('a', 1), placed('b', 2, { isBacklog: true }), placed('c', 3)]
    assert.deepEqual(next(items, { lanes: [laneOf(['a'], { beganAt: -50 })] }), ['b2'])
    const apart = [laneOf(['a'], { isApart: true }), laneOf(['x'], { isApart: true })]
    assert.deepEqual(next(items, { lanes: apart }), ['c3'])
    assert.equal(next([placed('a', 1)], { lanes: apart }), undefined)
    assert.equal(next(items, { lanes: [...apart, laneOf(['y'])] }), undefined)
  })

  it('is of no slow workspace while one of another that was slow is under way', () => {
    const items = [placed('a', 1), placed('b', 2, { isBacklog: true })]
    const lanes = [laneOf(['s'], { isApart: true })]
    assert.deepEqual(next(items, { lanes, slow: ['a', 's'] }), ['b2'])
    assert.deepEqual(next([placed('a', 1)], { lanes, slow: ['a'] }), ['a1'])
    assert.equal(next([placed('a', 1)], { lanes, slow: ['a', 's'] }), undefined)
  })

  it('waits behind the first of its workspace when there is enough for it, but no purge, slow workspace or last lane', () => {
    const lanes = [laneOf(['a'])]
    const full = { weight: bounds.enough }
    assert.deepEqual(next([placed('a', 1, full)], { lanes }), ['a1'])
    assert.equal(next([placed('a', 1)], { lanes }), undefined)
    assert.equal(next([placed('a', 1, full)], { lanes, slow: ['a'] }), undefined)
    assert.equal(next([placed('a', 1, full)], { lanes: [...lanes, laneOf(['b'])] }), undefined)
    for (const purge of [{ isPurge: true }, { isAfterPurge: true }]) {
      assert.equal(next([placed('a', 1, full), placed('a', 2, purge)], { lanes }), undefined)
    }
  })

  it('never has a workspace that is apart in all lanes, whatever waits', () => {
    const items = fc.array(
      fc.record({
        workspace: fc.constantFrom('a', 'b', 'c', 'd'),
        weight: fc.integer({ min: 1, max: 12 }),
        isBacklog: fc.boolean(),
      }),
      { minLength: 1, maxLength: 12 },
    )
    fc.assert(
      fc.property(items, fc.subarray(['a', 'b', 'c', 'd']), (all, slow) => {
        let left = waiting(
          ...all.map(({ workspace, weight, isBacklog }, at) => placed(workspace, at + 1, { weight, isBacklog })),
        )
        const lanes: Lane[] = []
        for (;;) {
          const statement = nextStatement(left, {
            lanes,
            strides: strides(...slow),
            bounds,
            now: 1_000,
            gatherUntil: 0,
          })
          if (statement === undefined || 'lookAt' in statement) break
          const own = statement.held.map(({ item }) => item)
          const ids = new Set(own.map(({ workspaceId }) => workspaceId))
          if (statement.isApart) assert.equal(ids.size, 1)
          else for (const id of ids) assert.ok(!slow.includes(id), `${id} is slow`)
          lanes.push(laneOf([...ids], { isApart: statement.isApart, beganAt: 0 }))
          left = left.filter(({ item }) => !own.includes(item))
        }
        assert.ok(lanes.filter(({ isApart }) => isApart).length < bounds.lanes)
        for (const id of slow) assert.ok(lanes.filter(({ workspaceIds }) => workspaceIds.has(id)).length <= 1)
      }),
      seeded({ numRuns: 500 }),
    )
  })
})

describe('strides', () => {
  const MOST = 500
  const onClock = () => {
    const clock = { ms: 0 }
    const all = stridesWithin({ mostWeight: MOST, budgetMs: BUDGET_MS }, () => clock.ms)
    const took = (weight: number, ms: number): void => all.took([{ workspaceId: 'a', weight }], ms)
    const of = () => [all.mostOf('a'), all.isSlow('a')]
    return { clock, all, took, of }
  }

  it('begin small, and are twice as long after each statement of such a weight within the budget', () => {
    const { took, of } = onClock()
    assert.deepEqual(of(), [16, false])
    took(16, BUDGET_MS)
    took(1, BUDGET_MS)
    assert.deepEqual(of(), [32, false], 'a small one shows nothing')
    took(100, BUDGET_MS)
    assert.deepEqual(of(), [200, false])
    took(150, 1)
    took(300, 1)
    assert.deepEqual(of(), [MOST, false])
  })

  it('are shorter after a statement over the budget, which makes the workspace slow for a while', () => {
    const { clock, took, of } = onClock()
    took(16, 4 * BUDGET_MS)
    assert.deepEqual(of(), [4, true])
    took(1, 3 * BUDGET_MS)
    assert.deepEqual(of(), [4, true], 'one with little in it may have met the work of others')
    took(4, BUDGET_MS)
    assert.deepEqual(of(), [8, true])
    clock.ms = 10_000
    assert.deepEqual(of(), [8, false])
    took(8, 1_000 * BUDGET_MS)
    assert.deepEqual(of(), [8, false], 'so may one that took very long, once')
    took(8, 1_000 * BUDGET_MS)
    assert.deepEqual(of(), [1, true])
  })

  it('hold it only against those that brought much of what was stored', () => {
    const { all } = onClock()
    const stored = [
      { workspaceId: 'a', weight: 1 },
      { workspaceId: 'b', weight: 9 },
    ]
    all.took(stored, 5 * BUDGET_MS)
    all.took(stored, 5 * BUDGET_MS)
    assert.deepEqual([all.isSlow('a'), all.isSlow('b')], [false, true])
  })

  it('are slow for a moment when another worker had the workspace', () => {
    const { clock, all, of } = onClock()
    all.wasBusy('a')
    assert.deepEqual(of(), [16, true])
    clock.ms = BUDGET_MS
    assert.deepEqual(of(), [16, false])
  })
})
