import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import {
  type ProcessReport,
  processReportsIn,
  type ProcessReports,
  startReporting,
} from '../../queue/process-reports.ts'
import { testServers } from '../support/servers.ts'
import { until } from '../support/until.ts'

const REPORT: ProcessReport = {
  id: 'a',
  kind: 'worker',
  accepted: 0,
  refused: 0,
  failed: 1,
  tagged: 2,
  stored: [3],
  queues: ['wake'],
  applying: { total: 2, byWorkspace: { w: 1 } },
  bodies: { bytes: 1, mostBytes: 2, refused: 3 },
  upSeconds: 5,
  loopDelaySeconds: 0.1,
  postgresSeconds: null,
}

describe('process reports', () => {
  const prefix = `t_${randomBytes(6).toString('hex')}`
  const [figures, seen] = [`{${prefix}:processes}:figures`, `{${prefix}:processes}:seen`]
  let redis: Redis
  let reports: ProcessReports
  before(() => {
    redis = new Redis(testServers().redisUrl)
    reports = processReportsIn(redis, prefix)
  })
  after(async () => {
    await redis.unlink(figures, seen)
    redis.disconnect()
  })
  const ids = async (): Promise<string[]> => (await reports.read()).map(({ id }) => id).toSorted()

  it('are the latest of each process, until it withdraws', async () => {
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

  it('of a process that is silent are neither shown nor kept, nor are any when all are', async () => {
    await reports.report({ ...REPORT, id: 'silent', stored: [] })
    await redis.zadd(seen, 1, 'silent')
    assert.deepEqual(await ids(), ['a'])
    await reports.report({ ...REPORT, stored: [] })
    assert.equal(await redis.hexists(figures, 'silent'), 0)
    for (const key of [figures, seen]) assert.ok((await redis.pttl(key)) > 0, key)
  })

  it('from before the clock of Redis went back are gone once somebody reports', async () => {
    await reports.report({ ...REPORT, id: 'ahead', stored: [] })
    await redis.zadd(seen, Date.now() + 3_600_000, 'ahead')
    await reports.report({ ...REPORT, stored: [] })
    assert.deepEqual(await ids(), ['a'])
  })

  it('of another version are left out', async () => {
    await redis.hset(figures, 'a', '{"id":"a","kind":"other"}')
    assert.deepEqual(await ids(), [])
  })

  it('come by themselves, and end when they are stopped', async () => {
    let tagged = 0
    const reporting = startReporting(reports, { id: 'c', kind: 'worker' }, async () => ({ tagged: ++tagged }))
    await until('it reported again', async () => (await reports.read()).some((one) => one.id === 'c' && one.tagged > 1))
    await reporting.stop()
    assert.deepEqual(await ids(), [])
  })
})
