import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LATELY_SECONDS, type ProcessReport } from '../../queue/process-reports.ts'
import { crowdingIn, takesMostOf, type WorkspaceLoad, workspaceLoads } from '../../queue/workspace-loads.ts'

const NOW_MS = 1_000_000
const worker = (applying: ProcessReport['applying']): ProcessReport => ({
  id: 'a',
  kind: 'worker',
  accepted: 0,
  refused: 0,
  failed: 0,
  tagged: 0,
  stored: [],
  queues: [],
  applying,
  bodies: { bytes: 0, mostBytes: 0, refused: 0 },
  upSeconds: 0,
  loopDelaySeconds: 0,
  postgresSeconds: null,
})
/** Logs by how many wait, and for how many seconds. */
const loadsOf = (waiting: Record<string, [count: number, seconds: number]>, ...applying: ProcessReport['applying'][]) =>
  workspaceLoads({
    workspaces: ['a', 'b', 'c'].map((id) => ({ id, name: `named ${id}` })),
    logs: Object.entries(waiting).map(([workspaceId, [queued, seconds]]) => ({
      workspaceId,
      accepted: 100,
      queued,
      bytes: 0,
      oldestNumber: queued === 0 ? null : (NOW_MS - seconds * 1_000) * 1_000,
    })),
    processes: applying.map(worker),
    nowMs: NOW_MS,
  })

describe('loads of workspaces', () => {
  it('are what waits and the time of all workers that they take, the heaviest first', () => {
    const loads = loadsOf(
      { a: [1, 2], b: [3, 30], c: [0, 0] },
      { total: LATELY_SECONDS, byWorkspace: { a: 0.75 * LATELY_SECONDS } },
      { total: LATELY_SECONDS, byWorkspace: { a: 0.75 * LATELY_SECONDS, c: 0.1 * LATELY_SECONDS } },
    )
    assert.deepEqual(loads, [
      { id: 'b', name: 'named b', waiting: 3, waitingShare: 0.75, oldestSeconds: 30, applyingShare: 0 },
      { id: 'a', name: 'named a', waiting: 1, waitingShare: 0.25, oldestSeconds: 2, applyingShare: 0.75 },
      { id: 'c', name: 'named c', waiting: 0, waitingShare: 0, oldestSeconds: 0, applyingShare: 0.05 },
    ])
  })

  it('are none when nothing waits and workers are idle', () => {
    assert.deepEqual(loadsOf({}), [])
    const little = { total: 0.04 * LATELY_SECONDS, byWorkspace: { a: 0.04 * LATELY_SECONDS } }
    assert.deepEqual(loadsOf({ a: [0, 0] }, little), [])
  })

  it('of a workspace that was deleted are left out, whatever workers remember of it', () => {
    const loads = loadsOf({ a: [0, 0] }, { total: 100, byWorkspace: { deleted: 60, a: 40 } })
    assert.deepEqual(
      loads.map(({ id, applyingShare }) => [id, applyingShare]),
      [['a', 0.4]],
    )
  })

  it('do not go back in time when the clock of Redis is ahead', () => {
    assert.equal(loadsOf({ a: [1, -5] })[0]!.oldestSeconds, 0)
  })
})

describe('crowding', () => {
  const load = (given: Partial<WorkspaceLoad>): WorkspaceLoad => ({
    id: 'a',
    name: 'acme',
    waiting: 10,
    waitingShare: 0,
    oldestSeconds: 0,
    applyingShare: 0,
    ...given,
  })
  const waitsFor = (oldestSeconds: number): WorkspaceLoad => load({ id: 'b', oldestSeconds })

  it("is having most of what waits, or of the workers' time, while others wait", () => {
    const said = [{ waitingShare: 0.6 }, { applyingShare: 0.6 }, { waitingShare: 0.9, applyingShare: 0.9 }].map(
      (shares) => {
        const found = crowdingIn([load(shares), waitsFor(3), waitsFor(11)])
        assert.equal(found?.id, 'a')
        assert.equal(found.othersSeconds, 11)
        return takesMostOf(found)
      },
    )
    assert.deepEqual(said, [
      'has most of what waits',
      "takes most of the workers' time",
      "has most of what waits and takes most of the workers' time",
    ])
  })

  it('is none when others are served, when there are none, and when nobody has most', () => {
    const heaviest = load({ waitingShare: 0.9, oldestSeconds: 500 })
    assert.equal(crowdingIn([heaviest, waitsFor(9)]), undefined)
    assert.equal(crowdingIn([heaviest]), undefined)
    assert.equal(crowdingIn([]), undefined)
    assert.equal(crowdingIn([load({ waitingShare: 0.5, applyingShare: 0.5 }), waitsFor(60)]), undefined)
  })
})
