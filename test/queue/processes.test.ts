import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { connectForCommand, type RedisClient } from '../../queue/redis/connect-redis.ts'
import { processKeys } from '../../queue/keys.ts'
import {
  LATELY_SECONDS,
  type ProcessReport,
  createProcessReports,
  startReporting,
} from '../../queue/jobs/process-reports.ts'
import { countSilentWorkers } from '../../queue/jobs/silent-workers.ts'
import { takeTurn } from '../../queue/jobs/take-turn.ts'
import { crowdingIn, describeCrowding, type WorkspaceLoad, workspaceLoads } from '../../queue/jobs/workspace-loads.ts'
import { openQueueRoom } from '../support/queue-room.ts'
import { testServers } from '../support/servers.ts'
import { until } from '../support/until.ts'
import { processReport } from './process-report.ts'

const REPORT = processReport({
  failed: 1,
  tagged: 2,
  stored: [3],
  queues: ['wake'],
  applying: { total: 2, byWorkspace: { w: 1 } },
  bodies: { bytes: 1, mostBytes: 2, refused: 3 },
  upSeconds: 5,
  loopDelaySeconds: 0.1,
})

describe('process reports', () => {
  const room = openQueueRoom()
  after(() => room.close())

  const { redis, prefix } = room
  const { ids: idsKey, report: reportOf } = processKeys(prefix)
  const reports = createProcessReports(redis, prefix)
  const ids = async (): Promise<string[]> => (await reports.read()).map(({ id }) => id).toSorted()

  it('are the latest of each process, until it withdraws its report', async () => {
    assert.deepEqual(await reports.read(), [])
    await reports.report({ ...REPORT, stored: [] })
    await reports.report({ ...REPORT, stored: [3] })
    await reports.report({ ...REPORT, id: 'b', kind: 'api', stored: [] })
    assert.deepEqual(await ids(), ['a', 'b'])
    assert.deepEqual(
      (await reports.read()).find(({ id }) => id === 'a'),
      REPORT,
    )
    await reports.withdraw('b')
    assert.deepEqual(await ids(), ['a'])
  })

  it('of a silent process are neither shown nor kept, even if all are silent', async () => {
    await reports.report({ ...REPORT, id: 'silent', stored: [] })
    await redis.pexpire(reportOf('silent'), 1)
    await until('the report has expired', async () => (await redis.exists(reportOf('silent'))) === 0)
    assert.deepEqual(await ids(), ['a'])
    assert.equal(await redis.sismember(idsKey, 'silent'), 0)
    for (const key of [idsKey, reportOf('a')]) assert.ok((await redis.pttl(key)) > 0, key)
  })

  it('disappear if they were made before the clock of Redis was set back', async () => {
    await reports.report({ ...REPORT, id: 'ahead', stored: [] })
    await redis.pexpire(reportOf('ahead'), 3_600_000)
    await reports.report({ ...REPORT, stored: [] })
    assert.deepEqual(await ids(), ['a'])
    assert.equal(await redis.exists(reportOf('ahead')), 0)
  })

  it('of another version are left out', async () => {
    await redis.set(reportOf('a'), '{"id":"a","kind":"other"}', 'KEEPTTL')
    assert.deepEqual(await ids(), [])
  })

  it('are sent regularly, and end when they are stopped', async () => {
    let tagged = 0
    const reporting = startReporting(reports, { id: 'c', kind: 'worker' }, async () => ({ tagged: ++tagged }))
    await until('the process has reported again', async () =>
      (await reports.read()).some((process) => process.id === 'c' && process.tagged > 1),
    )
    await reporting.stop()
    assert.deepEqual(await ids(), [])
  })
})

const PERIOD_MS = 60_000

describe('a turn', () => {
  const room = openQueueRoom()
  after(() => room.close())

  const take = (name: string, periodMs = PERIOD_MS) => takeTurn(room.redis, room.prefix, { name, periodMs })

  it('belongs to one process in each period, and each task has its own turns', async () => {
    const taken = await Promise.all(Array.from({ length: 5 }, () => take('sweep')))
    assert.equal(taken.filter(Boolean).length, 1)
    assert.equal(await take('mop'), true)
    assert.equal(await take('short', 50), true)
    await until('the period is over', () => take('short', 50))
  })

  it('does not last longer after a clock was set back', async () => {
    assert.equal(await take('late'), true)
    await room.redis.pexpire(processKeys(room.prefix).turn('late'), 2 * PERIOD_MS)
    assert.equal(await take('late'), true)
  })
})

// test/faults/clean-stop.test.ts tests that a frozen worker is counted.
describe('silent workers', () => {
  const user = `t_${randomBytes(6).toString('hex')}`
  let redis: RedisClient
  before(async () => {
    redis = await connectForCommand(testServers().redisUrl)
    await redis.call('ACL', 'SETUSER', user, 'on', `>${user}`, '~*', '+@all', '-client|list')
  })
  after(async () => {
    await redis.call('ACL', 'DELUSER', user)
    redis.disconnect()
  })

  it('are none while no worker of this installation is connected', async () => {
    assert.equal(await countSilentWorkers(redis, randomUUID(), Promise.resolve([])), 0)
  })

  it('are unknown if Redis does not list its connections', async () => {
    const url = new URL(testServers().redisUrl)
    Object.assign(url, { username: user, password: user })
    const limited = await connectForCommand(url.href)
    try {
      assert.equal(await countSilentWorkers(limited, 'feedback-insights', Promise.resolve([])), undefined)
    } finally {
      limited.disconnect()
    }
  })
})

const NOW_MS = 1_000_000
/** `waiting`: by workspace, its number of waiting submissions, and the age of the oldest one. */
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
