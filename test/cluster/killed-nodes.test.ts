import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { moreIsAccepted, startLoad } from '../support/load.ts'
import { ANSWERED_WITHIN_MS, assertNothingLost, assertWellAnswered, recovery } from '../support/recovery.ts'
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts'
import { type Service, startService } from '../support/service.ts'

/** Shorter and longer than the time after which the others take a node for failed and refuse everything. */
const AWAY_MS = [1_000, 3_000, 1_000]

describe('a Redis Cluster', () => {
  let cluster: RedisCluster
  let service: Service
  before(async () => {
    cluster = await startRedisCluster()
    const environment = { CONVERSATIONS_PER_MINUTE: '1000000' }
    service = await startService({ redisUrl: cluster.url, environment })
  })
  after(async () => {
    await service.stop()
    await cluster.stop()
  })

  it('whose nodes are killed under load, one after the other, and come back: all that was accepted is applied', async () => {
    const stack = { ...service, url: service.urls[0]!, prefix: service.redisPrefix }
    const load = startLoad(stack)
    for (const [index, { kill, start }] of cluster.nodes.entries()) {
      await moreIsAccepted(load)
      await kill()
      await pause(AWAY_MS[index])
      await start()
      await cluster.isWhole()
    }
    await moreIsAccepted(load)
    await load.stop()
    const ms = await recovery(stack, load.seen)
    const { accepted: all, refused, unknown, slowestMs } = load.seen
    console.log(
      `${all.size} accepted, ${refused} refused, ${unknown} without an answer, slowest ${Math.round(slowestMs)} ms, ` +
        `all applied after ${(ms / 1_000).toFixed(1)} s`,
    )
    assertWellAnswered(load.seen)
    assert.ok(slowestMs < ANSWERED_WITHIN_MS, `${Math.round(slowestMs)} ms`)
    await assertNothingLost(stack, load.seen)
    // Queues in which nothing was meanwhile: their workers have waited all the time.
    for (const [path, body] of [
      ['/accounts/identify', { id: 'acme' }],
      ['/contacts/purge', { email: 'c1@example.com' }],
    ] as const) {
      const options = { headers: { Prefer: 'wait=30' }, token: service.adminToken }
      const answer = await service.post(path, body, options)
      assert.equal(answer.headers.get('Submission-State'), 'applied', path)
    }
  })
})
