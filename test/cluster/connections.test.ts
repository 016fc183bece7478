import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import type { Cluster } from 'ioredis'
import { connectForCommand, connectToWork, type RedisClient } from '../../queue/connect-redis.ts'
import { serversOf } from '../../queue/redis-servers.ts'
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts'
import { until } from '../support/until.ts'

describe('connections to a Redis Cluster of which a node is away', () => {
  let cluster: RedisCluster
  let redis: RedisClient
  let copy: Cluster
  before(async () => {
    cluster = await startRedisCluster()
    redis = connectToWork(cluster.url)
    redis.on('error', () => {})
    copy = (redis as Cluster).duplicate()
    copy.on('error', () => {})
    await Promise.all([once(redis, 'ready'), once(copy, 'ready')])
    const [, second, third] = cluster.nodes
    await third!.kill()
    await until('the others say that it is away', async () =>
      (await second!.redis.cluster('INFO')).includes('cluster_state:fail'),
    )
  })
  after(async () => {
    redis.disconnect()
    copy.disconnect()
    await cluster.stop()
  })

  it('are refused to a command', async () => {
    await assert.rejects(connectForCommand(cluster.url))
  })

  it('are there for whoever waits for one of them once it is back, and know it again', async () => {
    copy.disconnect()
    await once(copy, 'end')
    const connected = copy.connect()
    await once(copy, 'reconnecting')
    await cluster.nodes[2]!.start()
    await cluster.isWhole()
    await connected
    assert.equal(copy.status, 'ready')
    const known = () =>
      serversOf(redis).then(
        ({ length }) => length,
        () => 0,
      )
    await until('all nodes are known', async () => (await known()) === cluster.nodes.length)
  })
})
