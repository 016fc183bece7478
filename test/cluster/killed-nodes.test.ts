import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { outlive } from '../support/outlive.ts'
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
    await service.queues.tagging.pause()
  })
  after(async () => {
    await service.stop()
    await cluster.stop()
  })

  it('whose nodes are killed one after the other, and come back: what is confirmed meanwhile is stored as the model has it', async () => {
    const strike = async (): Promise<void> => {
      for (const [index, { kill, start }] of cluster.nodes.entries()) {
        await kill()
        await pause(AWAY_MS[index])
        await start()
        await cluster.isWhole()
      }
    }
    const { size } = await outlive(service, { strike, purges: false })
    console.log(`${size} confirmed`)
    // The queue of removals was empty meanwhile: its workers have waited all the time.
    const contact = { id: 'waited', properties: { $email: 'waited@example.com' } }
    assert.equal(await service.settled(await service.post('/contacts/identify', contact)), 'applied')
    const options = { headers: { Prefer: 'wait=30' }, token: service.adminToken }
    const purge = await service.post('/contacts/purge', { id: 'waited' }, options)
    assert.equal(await service.settled(purge), 'applied')
  })
})
