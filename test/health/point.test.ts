import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Condition } from '../../health/condition.ts'
import { pointOf } from '../../health/point.ts'
import type { ProcessReport } from '../../queue/jobs/process-reports.ts'
import { processReport } from '../queue/process-report.ts'

const conditionAt = (seconds: number, processes: ProcessReport[]): Condition => ({ at: seconds * 1_000, processes })

describe('a point', () => {
  it('has rates since the previous point, even if processes started or ended since', () => {
    const before = conditionAt(0, [
      processReport({ id: 'api', kind: 'api', accepted: 10, refused: 2 }),
      processReport({ id: 'gone', tagged: 99, stored: [99] }),
      processReport({ id: 'old', tagged: 5, stored: [0, 4] }),
    ])
    const now = conditionAt(10, [
      processReport({
        id: 'api',
        kind: 'api',
        accepted: 40,
        refused: 3,
        bodies: { bytes: 7, mostBytes: 9, refused: 5 },
        loopDelaySeconds: 0.2,
      }),
      processReport({ id: 'old', tagged: 15, stored: [10, 4], failed: 1, postgresSeconds: 0.5 }),
      processReport({ id: 'new', upSeconds: 9, tagged: 10, stored: [9, 1], postgresSeconds: 0.1 }),
      processReport({ id: 'back after silence', upSeconds: 3_600, tagged: 9_999, stored: [9_999] }),
    ])
    const point = pointOf(now, before)
    assert.equal(point.apis, 1)
    assert.equal(point.workers, 3)
    assert.equal(point.acceptedPerSecond, 3)
    assert.equal(point.refusedPerSecond, 0.1)
    assert.equal(point.refusedForBytesPerSecond, 0.5)
    assert.equal(point.taggedPerSecond, 2)
    assert.equal(point.storedPerSecond, 2)
    assert.equal(point.failedPerSecond, 0.1)
    assert.equal(point.loopDelaySeconds, 0.2)
    assert.equal(point.postgresSeconds, 0.5)
    // 19 of 20 submissions were stored within the first bound.
    assert.equal(point.storageSeconds, 0.01)
  })

  it('names the workspaces with missing submissions, the largest number first', () => {
    const names = ['a', 'b', 'c', 'd']
    const differences = [1, -2, 3, 0]
    const point = pointOf(
      {
        ...conditionAt(1, []),
        workspaces: new Map(names.map((name) => [`id of ${name}`, name])),
        ledgers: names.map((name, place) => ({
          workspaceId: `id of ${name}`,
          accepted: 9,
          queued: 0,
          oldestNumber: null,
          bytes: 0,
          applied: 9,
          superseded: 0,
          purged: 0,
          dead: 0,
          difference: differences[place]!,
        })),
      },
      undefined,
    )
    assert.deepEqual(point.missing, [
      { name: 'c', difference: 3 },
      { name: 'a', difference: 1 },
    ])
  })

  it('has no rates without a previous point, and no figures of servers that are away', () => {
    const point = pointOf({ at: 1 }, undefined)
    const { at: _at, redisUp, postgresUp, ...rest } = point
    assert.equal(redisUp, false)
    assert.equal(postgresUp, false)
    assert.ok(Object.values(rest).every((value) => value === null))
  })

  it('has the ten heaviest workspaces, and the workspace that crowds the others', () => {
    const ids = Array.from({ length: 12 }, (_, n) => `w${n}`)
    const point = pointOf(
      {
        at: 60_000,
        workspaces: new Map(ids.map((id) => [id, `named ${id}`])),
        logs: ids.map((workspaceId, n) => ({
          workspaceId,
          accepted: 99,
          queued: 2 ** n,
          oldestNumber: 40_000_000,
          bytes: 9,
        })),
      },
      undefined,
    )
    assert.deepEqual(
      point.heaviest?.map(({ id }) => id),
      ids.slice(2).toReversed(),
    )
    assert.equal(point.crowding?.name, 'named w11')
    assert.equal(point.crowding.othersSeconds, 20)
  })

  it('has the difference that is furthest from 0, and sums of queues and of dead submissions', () => {
    const ledger = { accepted: 9, queued: 0, applied: 0, superseded: 0, purged: 0, oldestNumber: null, bytes: 0 }
    const depth = { active: 1, failed: 0 }
    const point = pointOf(
      {
        at: 1,
        ledgers: [
          { ...ledger, workspaceId: 'a', dead: 1, difference: 2 },
          { ...ledger, workspaceId: 'b', dead: 2, difference: -3 },
        ],
        queues: [
          { ...depth, queue: 'wake', waiting: 3, delayed: 1, oldestSeconds: 7 },
          { ...depth, queue: 'removal', waiting: 1, delayed: 0, oldestSeconds: 9 },
        ],
      },
      undefined,
    )
    assert.equal(point.difference, -3)
    assert.equal(point.dead, 3)
    assert.equal(point.waiting, 5)
    assert.equal(point.oldestSeconds, 9)
    assert.equal(point.queues?.['wake']?.waiting, 3)
  })
})
