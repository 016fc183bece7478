import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import type { Cluster } from 'ioredis'
import { connectToAnswer, connectToWork } from '../../queue/redis/connect-redis.ts'
import { freeze } from '../support/kept-process.ts'
import { type ClusterNode, type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts'
import { until } from '../support/until.ts'

const AT_ONCE = 20
const MANY = 200
const REFUSED = 'Connection is closed.'
const REDIRECTED = /^(MOVED|CLUSTERDOWN)/

describe('a Redis Cluster with one node away and another that hangs', () => {
  let cluster: RedisCluster
  let redis: Cluster
  let goOn = (): void => {}
  before(async () => {
    // The healthy node has to go on answering, so it must not notice that the others are away.
    cluster = await startRedisCluster({ nodeTimeoutMs: 600_000 })
    redis = connectToAnswer(cluster.url) as Cluster
    redis.on('error', () => {})
    await once(redis, 'ready')
  })
  after(async () => {
    goOn()
    redis.disconnect()
    await cluster.stop()
  })

  it('gets a whole pipeline or nothing, so that no command gets the answer to another command', async () => {
    const [away, hanging, well] = cluster.nodes
    const keys = await keyOfEach(cluster)
    const [lost, kept] = [keys.get(away!)!, keys.get(well!)!]
    await redis.set(kept, 'kept')
    await away!.kill()
    const pid = Number(/process_id:(\d+)/.exec(await hanging!.redis.info('server'))![1])
    // A new connection to the frozen node never becomes ready, so it refuses commands.
    await hanging!.redis.call('CLIENT', 'KILL', 'TYPE', 'normal')
    goOn = freeze({ pid: () => pid })
    let refused = 0
    await until('many pipelines were refused', async () => {
      const pipelines = Array.from({ length: AT_ONCE }, () => redis.pipeline().get(lost).ping().exec())
      assert.equal(await redis.get(kept), 'kept')
      for (const results of await Promise.all(pipelines)) {
        const [got, ping] = results!
        // No node can answer the first command.
        assert.ok(got![0] !== null, `answered ${String(got![1])}`)
        assert.ok(ping![0] === null ? ping![1] === 'PONG' : !REDIRECTED.test(ping![0].message), String(ping![0]))
        if (got![0].message === REFUSED && ping![0]?.message === REFUSED) refused++
      }
      return refused >= MANY
    })
  })
})

describe('a Redis Cluster with a single node in REDIS_URL', () => {
  let cluster: RedisCluster
  before(async () => (cluster = await startRedisCluster({ nodeTimeoutMs: 600_000 })))
  after(() => cluster.stop())

  it('is reached again after a loss of all connections, while this node is away', async () => {
    const redis = connectToWork(cluster.url) as Cluster
    const clients = [redis, redis.duplicate()]
    for (const client of clients) client.on('error', () => {})
    await Promise.all(clients.map((client) => once(client, 'ready')))
    await cluster.nodes[0]!.kill()
    for (const client of clients) client.disconnect(true)
    await until('both are ready again', async () => clients.every(({ status }) => status === 'ready'))
    for (const client of clients) client.disconnect()
  })
})

const keyOfEach = async ({ nodes, holderOf }: RedisCluster): Promise<Map<ClusterNode, string>> => {
  const keys = new Map<ClusterNode, string>()
  for (let index = 0; keys.size < nodes.length; index++) keys.set(await holderOf(`key ${index}`), `key ${index}`)
  return keys
}
