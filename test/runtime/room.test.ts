import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { type Room, roomFor } from '../../runtime/room.ts'
import { seeded } from '../support/property-seed.ts'

const MOST = { submissions: 10, bytes: 1_000 }

/** Works that continue until the test ends them. */
const worksIn = (room: Room) => {
  const begun: number[] = []
  return {
    begun,
    enter: (name: number, submissions: number, { bytes = 0, workspaceId = String(name) } = {}) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const ended = room.enter({ workspaceId, submissions, bytes }, () => {
        begun.push(name)
        return promise
      })
      return {
        leave: () => {
          resolve()
          return ended
        },
        fail: async () => {
          reject(new Error('bad'))
          await assert.rejects(ended, /bad/)
        },
      }
    },
  }
}

const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('room in a process', () => {
  it('is given in the order of requests, so that a large load is not overtaken for ever', async () => {
    const { begun, enter } = worksIn(roomFor(MOST))
    const first = enter(1, 5)
    const [large, small] = [enter(2, 8), enter(3, 1)]
    await soon()
    assert.deepEqual(begun, [1])
    await first.leave()
    await soon()
    assert.deepEqual(begun, [1, 2, 3])
    await Promise.all([large.leave(), small.leave()])
  })

  it('is never all given to one workspace, and a load that waits for its workspace delays no other workspace', async () => {
    const { begun, enter } = worksIn(roomFor(MOST))
    const own = [1, 2, 3, 4, 5, 6].map((name) => enter(name, 1, { workspaceId: 'a' }))
    const other = enter(7, 3, { workspaceId: 'b' })
    await soon()
    assert.deepEqual(begun, [1, 2, 3, 4, 5, 7], '6 would have taken more than it left')
    await other.leave()
    await own[0]!.leave()
    await soon()
    assert.deepEqual(begun, [1, 2, 3, 4, 5, 7, 6])
    await Promise.all(own.slice(1).map(({ leave }) => leave()))
  })

  it('is not waited for beyond the time limit, and then not reserved', async () => {
    const room = roomFor(MOST)
    const { enter } = worksIn(room)
    const first = enter(1, 9)
    const patient = enter(2, 1)
    assert.equal(await room.enterSoon({ workspaceId: 'c', submissions: 1, bytes: 0 }, async () => 'done', 1), undefined)
    await first.leave()
    assert.equal(await room.enterSoon({ workspaceId: 'c', submissions: 1, bytes: 0 }, async () => 'done', 1), 'done')
    await patient.leave()
    assert.deepEqual(room.used(), { submissions: 0, bytes: 0 })
  })

  it('has a bounded queue for each workspace: loads beyond it are refused at once', async () => {
    const room = roomFor(MOST)
    const { enter } = worksIn(room)
    const inside = enter(1, 1, { workspaceId: 'a', bytes: 600 })
    const patient = [1, 2].map((name) => enter(name, 1, { workspaceId: 'a', bytes: 100 }))
    const load = { workspaceId: 'a', submissions: 1, bytes: 100 }
    assert.equal(await room.enterSoon(load, async () => 'done', 3_600_000), undefined)
    assert.equal(await room.enterSoon({ ...load, workspaceId: 'b' }, async () => 'done', 3_600_000), 'done')
    await inside.leave()
    await Promise.all(patient.map(({ leave }) => leave()))
  })

  it('is given to a delayed load as soon as the others have ended', async () => {
    const { begun, enter } = worksIn(roomFor(MOST))
    const [other, own] = [enter(1, 6, { workspaceId: 'b' }), enter(2, 2, { workspaceId: 'a' })]
    const kept = enter(3, 2, { workspaceId: 'a' })
    await soon()
    assert.deepEqual(begun, [1, 2])
    await other.leave()
    await soon()
    assert.deepEqual(begun, [1, 2, 3])
    await Promise.all([own.leave(), kept.leave()])
  })

  it('is given to workspaces in turn: the queue of one does not delay another', async () => {
    const { begun, enter } = worksIn(roomFor(MOST))
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

  it('is given to a workspace in its turn, even if the time limit of its later load is over', async () => {
    const room = roomFor(MOST)
    const { begun, enter } = worksIn(room)
    const all = enter(1, 10)
    const own = enter(2, 6, { workspaceId: 'a' })
    const late = room.enterSoon({ workspaceId: 'a', submissions: 1, bytes: 0 }, async () => 'done', 1)
    const other = enter(3, 6, { workspaceId: 'b' })
    assert.equal(await late, undefined)
    await all.leave()
    await soon()
    assert.deepEqual(begun, [1, 2])
    await Promise.all([own.leave(), other.leave()])
  })

  it('is free again after a failed work', async () => {
    const room = roomFor(MOST)
    const { enter } = worksIn(room)
    await enter(1, 10).fail()
    assert.equal(await room.enter({ workspaceId: 'a', submissions: 10, bytes: 0 }, async () => 'done'), 'done')
  })

  it('is exceeded only by a single load, and every load gets in', async () => {
    const loads = fc.array(
      fc.record({
        workspaceId: fc.constantFrom('a', 'b', 'c'),
        submissions: fc.integer({ min: 1, max: 14 }),
        bytes: fc.integer({ min: 0, max: 1_400 }),
      }),
      { maxLength: 40 },
    )
    await fc.assert(
      fc.asyncProperty(loads, fc.scheduler(), async (all, scheduler) => {
        const room = roomFor(MOST)
        const inside = { loads: 0, submissions: 0, bytes: 0 }
        const ended = all.map(({ workspaceId, submissions, bytes }) =>
          room.enter({ workspaceId, submissions, bytes }, async () => {
            inside.loads++
            inside.submissions += submissions
            inside.bytes += bytes
            const fits = inside.submissions <= MOST.submissions && inside.bytes <= MOST.bytes
            assert.ok(fits || inside.loads === 1, JSON.stringify(inside))
            await scheduler.schedule(Promise.resolve())
            inside.loads--
            inside.submissions -= submissions
            inside.bytes -= bytes
          }),
        )
        await scheduler.waitFor(Promise.all(ended))
        assert.deepEqual(inside, { loads: 0, submissions: 0, bytes: 0 })
      }),
      seeded({ numRuns: 200 }),
    )
  })

  it('is given to every load that fits, keeps a reserve, and does not wait for a load that does not fit', async () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ workspaceId: fc.constantFrom('a', 'b', 'c', 'd'), submissions: fc.integer({ min: 1, max: 11 }) }),
        fc.record({ leaves: fc.nat() }),
      ),
      { maxLength: 60 },
    )
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const room = roomFor(MOST)
        const inside: { workspaceId: string; submissions: number; leave: () => void }[] = []
        const waiting: { workspaceId: string; submissions: number }[] = []
        let areInOrder = true
        for (const step of all) {
          if ('leaves' in step) inside.splice(step.leaves % Math.max(1, inside.length), 1)[0]?.leave()
          else {
            waiting.push(step)
            void room.enter({ ...step, bytes: 0 }, () => {
              const own = waiting.find(({ workspaceId }) => workspaceId === step.workspaceId)
              areInOrder &&= own === step
              waiting.splice(waiting.indexOf(step), 1)
              return new Promise((leave) => inside.push({ ...step, leave: () => leave(undefined) }))
            })
          }
          await soon()
          assert.ok(areInOrder, 'a workspace has its own loads in their order')
          const left = MOST.submissions - room.used().submissions
          const firsts = [...Map.groupBy(waiting, ({ workspaceId }) => workspaceId).values()].map(([first]) => first!)
          const has = (id: string): number =>
            inside.reduce((sum, { workspaceId, submissions }) => sum + (workspaceId === id ? submissions : 0), 0)
          const isKeptBack = firsts.every(({ workspaceId, submissions }) => {
            return has(workspaceId) > 0 && has(workspaceId) + 2 * submissions > left
          })
          assert.ok(isKeptBack || firsts.some(({ submissions }) => submissions > left && inside.length > 0))
        }
      }),
      seeded({ numRuns: 300 }),
    )
  })
})
