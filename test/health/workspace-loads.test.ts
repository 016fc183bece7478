import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { crowdingIn, describeCrowding, type WorkspaceLoad, workspaceLoads } from '../../health/workspace-loads.ts'
import { LATELY_SECONDS, type ProcessReport } from '../../queue/jobs/process-reports.ts'
import { processReport } from '../queue/process-report.ts'

const NOW_MS = 1_000_000
/** `waiting`: by workspace, its number of waiting submissions, and the age of the oldest one. */
const loadsOf = (waiting: Record<string, [count: number, seconds: number]>, ...applying: ProcessReport['applying'][]) =>
  workspaceLoads({
    workspaces: new Map(['a', 'b', 'c'].map((id) => [id, `named ${id}`])),
    logs: Object.entries(waiting).map(([workspaceId, [queued, seconds]]) => ({
      workspaceId,
      accepted: 100,
      queued,
      bytes: 0,
      oldestNumber: queued === 0 ? null : (NOW_MS - seconds * 1_000) * 1_000,
    })),
    processes: applying.map((time) => processReport({ applying: time })),
    nowMs: NOW_MS,
  })

describe('loads of workspaces', () => {
  it("have waiting submissions and the share of the workers' time, the heaviest first", () => {
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

  it('of a deleted workspace are left out, even if workers remember it', () => {
    const loads = loadsOf({ a: [0, 0] }, { total: 100, byWorkspace: { deleted: 60, a: 40 } })
    assert.deepEqual(
      loads.map(({ id, applyingShare }) => [id, applyingShare]),
      [['a', 0.4]],
    )
  })

  it('have no negative age when the clock of Redis is ahead', () => {
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

  it("is having most of the waiting submissions, or of the workers' time, while others wait", () => {
    const descriptions = [{ waitingShare: 0.6 }, { applyingShare: 0.6 }, { waitingShare: 0.9, applyingShare: 0.9 }].map(
      (shares) => {
        const found = crowdingIn([load(shares), waitsFor(3), waitsFor(11)])
        assert.equal(found?.id, 'a')
        assert.equal(found.othersSeconds, 11)
        return describeCrowding(found)
      },
    )
    assert.deepEqual(descriptions, [
      'has most of the waiting submissions',
      "takes most of the workers' time",
      "has most of the waiting submissions and takes most of the workers' time",
    ])
  })

  it('is absent when no other workspace waits long, when there is no other, and without a majority', () => {
    const heaviest = load({ waitingShare: 0.9, oldestSeconds: 500 })
    assert.equal(crowdingIn([heaviest, waitsFor(9)]), undefined)
    assert.equal(crowdingIn([heaviest]), undefined)
    assert.equal(crowdingIn([]), undefined)
    assert.equal(crowdingIn([load({ waitingShare: 0.5, applyingShare: 0.5 }), waitsFor(60)]), undefined)
  })
})
