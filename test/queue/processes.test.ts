import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { processKeys } from '../../queue/keys.ts'
import { createProcessReports, startReporting } from '../../queue/jobs/process-reports.ts'
import { takeTurn } from '../../queue/jobs/take-turn.ts'
import { openQueueRoom } from '../support/queue-room.ts'
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
