import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as soon, setTimeout as pause } from 'node:timers/promises'
import * as fc from 'fast-check'
import { FairSemaphore } from '../../runtime/fair-semaphore.ts'
import { seeded } from '../support/property-seed.ts'

const PERMITS = 10

/** Pieces of work that hold their permits until the test calls `leave`. */
const worksIn = (semaphore: FairSemaphore) => {
  const begun: number[] = []
  return {
    begun,
    enter: (name: number, permits: number, { workspaceId = String(name) } = {}) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const ended = semaphore.run({ workspaceId, permits }, () => {
        begun.push(name)
        return promise
      })
      return {
        leave: () => {
          resolve()
          return ended
        },
      }
    },
  }
}

describe('a fair semaphore', () => {
  it('admits demands in their order, so that small demands do not starve a large one', async () => {
    const { begun, enter } = worksIn(new FairSemaphore(PERMITS))
    const first = enter(1, 5)
    const [large, small] = [enter(2, 8), enter(3, 1)]
    await soon()
    assert.deepEqual(begun, [1])
    await first.leave()
    await soon()
    assert.deepEqual(begun, [1, 2, 3])
    await Promise.all([large.leave(), small.leave()])
  })

  it('keeps permits free for other workspaces, and a workspace beyond its share delays no other workspace', async () => {
    const { begun, enter } = worksIn(new FairSemaphore(PERMITS))
    const own = [1, 2, 3, 4, 5, 6].map((name) => enter(name, 1, { workspaceId: 'a' }))
    const other = enter(7, 3, { workspaceId: 'b' })
    await soon()
    assert.deepEqual(begun, [1, 2, 3, 4, 5, 7], 'demand 6 would leave too few permits')
    await other.leave()
    await own[0]!.leave()
    await soon()
    assert.deepEqual(begun, [1, 2, 3, 4, 5, 7, 6])
    await Promise.all(own.slice(1).map(({ leave }) => leave()))
  })

  it('holds the permits of ended work for a while, if more work of the workspace waits', async () => {
    // The rest is 100 times the work, so about a second.
    const semaphore = new FairSemaphore(PERMITS, 1, 100)
    const run = (name: string, patienceMs: number) =>
      semaphore.tryRun({ workspaceId: 'a', permits: 1 }, () => pause(10, name), patienceMs)
    assert.equal(await run('alone', 0), 'alone')
    const [first, later] = [run('first', 0), run('later', 600_000)]
    assert.equal(await first, 'first')
    assert.equal(await run('early', 10), undefined)
    assert.equal(await later, 'later')
  })

  it('gives a demand up when its patience ends, and keeps no permits for it', async () => {
    const semaphore = new FairSemaphore(PERMITS)
    const { enter } = worksIn(semaphore)
    const first = enter(1, 9)
    const second = enter(2, 1)
    assert.equal(await semaphore.tryRun({ workspaceId: 'c', permits: 1 }, async () => 'done', 1), undefined)
    await first.leave()
    assert.equal(await semaphore.tryRun({ workspaceId: 'c', permits: 1 }, async () => 'done', 1), 'done')
    await second.leave()
    assert.equal(semaphore.used, 0)
  })

  it('refuses at once a demand that makes its workspace wait for more than a quarter of the permits', async () => {
    const semaphore = new FairSemaphore(PERMITS)
    const { enter } = worksIn(semaphore)
    const inside = enter(1, 6, { workspaceId: 'a' })
    const patient = [1, 2].map((name) => enter(name, 1, { workspaceId: 'a' }))
    const demand = { workspaceId: 'a', permits: 1 }
    assert.equal(await semaphore.tryRun(demand, async () => 'done', 3_600_000), undefined)
    assert.equal(await semaphore.tryRun({ ...demand, workspaceId: 'b' }, async () => 'done', 3_600_000), 'done')
    await inside.leave()
    await Promise.all(patient.map(({ leave }) => leave()))
  })

  it('bounds the permits of a workspace, whose further demands wait in order and delay no other workspace', async () => {
    const { begun, enter } = worksIn(new FairSemaphore(Infinity, 2))
    const own = [1, 2, 3, 4].map((name) => enter(name, 1, { workspaceId: 'a' }))
    const other = enter(5, 1, { workspaceId: 'b' })
    await soon()
    assert.deepEqual(begun, [1, 2, 5])
    await own[1]!.leave()
    await soon()
    assert.deepEqual(begun, [1, 2, 5, 3])
    await Promise.all([...own, other].map(({ leave }) => leave()))
    assert.deepEqual(begun, [1, 2, 5, 3, 4])
  })

  it('counts permits of `take`, also beyond the bound of a workspace', async () => {
    const semaphore = new FairSemaphore(Infinity, 1)
    const demand = { workspaceId: 'a', permits: 1 }
    const releases = [semaphore.take(demand), semaphore.take(demand)]
    for (const release of releases) {
      assert.equal(await semaphore.tryRun(demand, async () => 'done', 1), undefined)
      release()
    }
    assert.equal(await semaphore.tryRun(demand, async () => 'done', 1), 'done')
  })

  it('serves workspaces in turn: many demands of one workspace do not delay another workspace', async () => {
    const { begun, enter } = worksIn(new FairSemaphore(PERMITS))
    const all = enter(1, 10)
    const rest = [
      ...[2, 3, 4].map((name) => enter(name, 2, { workspaceId: 'a' })),
      ...[5, 6].map((name) => enter(name, 2, { workspaceId: 'b' })),
    ]
    await all.leave()
    await soon()
    assert.deepEqual(begun, [1, 2, 5, 3])
    await Promise.all(rest.map(({ leave }) => leave()))
  })

  it('keeps the turn of a workspace whose later demand gives up', async () => {
    const semaphore = new FairSemaphore(PERMITS)
    const { begun, enter } = worksIn(semaphore)
    const all = enter(1, 10)
    const own = enter(2, 6, { workspaceId: 'a' })
    const late = semaphore.tryRun({ workspaceId: 'a', permits: 1 }, async () => 'done', 1)
    const other = enter(3, 6, { workspaceId: 'b' })
    assert.equal(await late, undefined)
    await all.leave()
    await soon()
    assert.deepEqual(begun, [1, 2])
    await Promise.all([own.leave(), other.leave()])
  })

  it('exceeds its permits only for a single demand, and admits every demand, even after failed work', async () => {
    const loads = fc.array(
      fc.record({
        workspaceId: fc.constantFrom('a', 'b', 'c'),
        permits: fc.integer({ min: 1, max: 14 }),
        fails: fc.boolean(),
      }),
      { maxLength: 40 },
    )
    await fc.assert(
      fc.asyncProperty(loads, fc.scheduler(), async (all, scheduler) => {
        const semaphore = new FairSemaphore(PERMITS)
        const inside = { works: 0, permits: 0 }
        const ended = all.map((demand) =>
          semaphore.run(demand, async () => {
            inside.works++
            inside.permits += demand.permits
            assert.ok(inside.permits <= PERMITS || inside.works === 1, JSON.stringify(inside))
            await scheduler.schedule(Promise.resolve())
            inside.works--
            inside.permits -= demand.permits
            if (demand.fails) throw new Error('bad')
          }),
        )
        await scheduler.waitFor(Promise.allSettled(ended))
        assert.deepEqual(inside, { works: 0, permits: 0 })
      }),
      seeded({ numRuns: 200 }),
    )
  })

  it('lets a demand wait only if its workspace is beyond its share or an earlier demand does not fit', async () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ workspaceId: fc.constantFrom('a', 'b', 'c', 'd'), permits: fc.integer({ min: 1, max: 11 }) }),
        fc.record({ leaves: fc.nat() }),
      ),
      { maxLength: 60 },
    )
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const semaphore = new FairSemaphore(PERMITS)
        const inside: { workspaceId: string; permits: number; leave: () => void }[] = []
        const waiting: { workspaceId: string; permits: number }[] = []
        let areInOrder = true
        for (const step of all) {
          if ('leaves' in step) inside.splice(step.leaves % Math.max(1, inside.length), 1)[0]?.leave()
          else {
            waiting.push(step)
            void semaphore.run(step, () => {
              const own = waiting.find(({ workspaceId }) => workspaceId === step.workspaceId)
              areInOrder &&= own === step
              waiting.splice(waiting.indexOf(step), 1)
              return new Promise((leave) => inside.push({ ...step, leave: () => leave(undefined) }))
            })
          }
          await soon()
          assert.ok(areInOrder, 'the demands of a workspace keep their order')
          const left = PERMITS - semaphore.used
          const firsts = [...Map.groupBy(waiting, ({ workspaceId }) => workspaceId).values()].map(([first]) => first!)
          const has = (id: string): number =>
            inside.reduce((sum, { workspaceId, permits }) => sum + (workspaceId === id ? permits : 0), 0)
          const isKeptBack = firsts.every(({ workspaceId, permits }) => {
            return has(workspaceId) > 0 && has(workspaceId) + 2 * permits > left
          })
          assert.ok(isKeptBack || firsts.some(({ permits }) => permits > left && inside.length > 0))
        }
      }),
      seeded({ numRuns: 300 }),
    )
  })
})
