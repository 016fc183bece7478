import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { deleteOneOf } from '../support/deleted-workspace.ts'
import { holdWork, resumeWork } from '../support/hold-work.ts'
import { readLedger } from '../support/ledgers.ts'
import { moreIsAccepted, startLoad } from '../support/load.ts'
import { assertWellAnswered, recovery } from '../support/recovery.ts'
import { type RedisSentinel, startRedisSentinel } from '../support/redis-sentinel.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const SETTLED_WITHIN_MS = 240_000
/** What can be accepted between two looks of the replica at its master, here on one machine. */
const LOST_AT_MOST = 10

describe('a Redis with a replica and a sentinel', () => {
  let redis: RedisSentinel
  let service: Service
  before(async () => {
    redis = await startRedisSentinel()
    service = await startService({ redisUrl: redis.url, environment: { CONVERSATIONS_PER_MINUTE: '1000000' } })
  })
  after(async () => {
    await service.stop()
    await redis.stop()
  })
  const stack = () => ({ ...service, url: service.urls[0]!, prefix: service.redisPrefix })

  it('loses nothing in a failover that the replica had, goes on by itself, and ends no process', async () => {
    // What waits exists in Redis alone.
    await holdWork(service.queues)
    const waiting = startLoad(stack())
    await moreIsAccepted(waiting)
    await waiting.stop()
    await redis.isInStep()
    const load = startLoad(stack())
    await moreIsAccepted(load)
    await redis.failOver()
    await moreIsAccepted(load)
    await load.stop()
    await resumeWork(service.queues)
    await until('nothing is queued', async () => (await readLedger(service)).queued === 0, SETTLED_WITHIN_MS)
    await recovery(stack(), waiting.seen)
    assertWellAnswered(load.seen)
    const ids = [...load.seen.accepted.keys()]
    const [{ lost }] = await service.sql<[{ lost: number }]>`
      select count(*)::int as lost from unnest(${ids}::uuid[]) as a (id)
      where not exists (select from submission as s where s.id = a.id and s.state in ('applied', 'superseded'))`
    console.log(`${ids.length} accepted around the failover, ${lost} of them lost, ${load.seen.refused} refused`)
    assert.ok(lost <= LOST_AT_MOST, `${lost} lost`)
    const ledger = await readLedger(service)
    assert.ok(Math.abs(ledger.difference) <= lost + load.seen.unknown + load.seen.refused, JSON.stringify(ledger))
  })

  it('loses nothing when the former master comes back as a replica', async () => {
    const load = startLoad(stack())
    await moreIsAccepted(load)
    await redis.bringBack()
    await moreIsAccepted(load)
    await load.stop()
    await recovery(stack(), load.seen)
    assertWellAnswered(load.seen)
    assert.equal(load.seen.refused + load.seen.unknown, 0)
  })

  it('has no key left of a deleted workspace', () => deleteOneOf(service))
})
