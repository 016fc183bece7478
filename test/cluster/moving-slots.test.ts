import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { Cluster } from 'ioredis'
import { admissionsIn } from '../../queue/admit.ts'
import { booksIn } from '../../queue/books.ts'
import { connectToAnswer } from '../../queue/connect-redis.ts'
import { admissionKeys, compactId } from '../../queue/keys.ts'
import { decidingIn, type Settled, settlingIn } from '../../queue/settle.ts'
import { splittingIn } from '../../queue/split.ts'
import { moreIsAccepted, startLoad } from '../support/load.ts'
import { asked, handsNothingOver } from '../support/queue-room.ts'
import { assertNothingLost, assertWellAnswered, recovery } from '../support/recovery.ts'
import { type ClusterNode, type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts'
import { type Service, startService } from '../support/service.ts'

/** Few, and with a pause between them, so that the two nodes share a slot for long. */
const KEYS_AT_ONCE = 5
const BETWEEN_KEYS_MS = 20
const ROUNDS = process.env['TEST_SIZE'] === 'long' ? 3 : 1

describe('a Redis Cluster whose slots move under load', () => {
  let cluster: RedisCluster
  let service: Service
  before(async () => {
    cluster = await startRedisCluster()
    const environment = { CONVERSATIONS_PER_MINUTE: '1000000' }
    service = await startService({ apis: 2, redisUrl: cluster.url, environment })
  })
  after(async () => {
    await service.stop()
    await cluster.stop()
  })

  it('loses nothing and stores nothing twice', async () => {
    const stack = { ...service, url: service.urls[0]!, prefix: service.redisPrefix }
    const load = startLoad(stack)
    await moreIsAccepted(load)
    let moved = 0
    for (let round = 0; round < ROUNDS; round++) {
      for (const [index, from] of cluster.nodes.entries()) {
        const to = cluster.nodes[(index + 1) % cluster.nodes.length]!
        for (const slot of await slotsInUse(from.redis)) {
          await moveSlot(slot, { from, to, all: cluster.nodes })
          moved++
        }
        await moreIsAccepted(load)
      }
    }
    await load.stop()
    const ms = await recovery(stack, load.seen)
    const { accepted, refused, unknown, slowestMs } = load.seen
    console.log(
      `${moved} slots moved: ${accepted.size} accepted, ${refused} refused, ${unknown} without an answer, ` +
        `slowest ${Math.round(slowestMs)} ms, all applied after ${(ms / 1_000).toFixed(1)} s`,
    )
    assert.ok(moved > 5 * ROUNDS)
    assertWellAnswered(load.seen)
    await assertNothingLost(stack, load.seen)
  })

  const keyId = randomUUID()
  const said = [{ newIds: [], aboutKeys: [{ keyId, sayings: [{ kind: 'given' as const, unless: null }] }] }]
  type Change = (redis: Cluster, prefix: string, settled: Settled) => Promise<unknown>
  const changes: Readonly<Record<string, Change>> = {
    settled: (redis, prefix, settled) => settlingIn(redis, prefix)([settled, goneAlready(settled)]),
    split: (redis, prefix, { batch }) => splittingIn(redis, prefix)(batch),
    decided: (redis, prefix, settled) => decidingIn(redis, prefix)([settled]),
  }
  for (const [what, carryOut] of Object.entries(changes))
    it(`changes nothing of a batch that is to be ${what} and meets a key that has moved half-way`, async () => {
      const redis = connectToAnswer(cluster.url) as Cluster
      redis.on('error', () => {})
      try {
        await once(redis, 'ready')
        const workspaceId = randomUUID()
        const prefix = service.redisPrefix
        const admit = admissionsIn({ redis, prefix, handOver: handsNothingOver, findStoredKey: async () => null })
        const admission = await admit(asked({ workspaceId, operation: 'purge_contact', bodyText: '{"id":"x"}' }))
        assert.equal(admission.outcome, 'admitted')
        const name = admissionKeys(prefix, workspaceId)
        const [batchId] = await redis.zrange(name.outstanding, '0', '0')
        const batch = await booksIn(redis, prefix).read({ workspaceId, batchId: batchId! })
        // All that the scripts are given is there, as in a workspace in which everything happens at once.
        for (const key of [name.outstanding, name.purges, name.removing, name.outbox, name.backlog])
          await redis.zadd(key, 1, 'another')
        for (const key of [name.carriers, name.alone, name.exists, name.idempotency])
          await redis.hset(key, 'another', '1:record')
        await redis.hset(name.facts, compactId(keyId), '+')
        await redis.rpush(name.settledKeys, '1')
        const contents = async (): Promise<unknown> =>
          Promise.all((await keysOf(redis, name.every)).map(async (key) => [key, await redis.dumpBuffer(key)]))
        const former = await contents()
        const change = () => carryOut(redis, prefix, { batch: batch!, sayings: said })
        const slot = await cluster.nodes[0]!.redis.cluster('KEYSLOT', name.number)
        const owner = await cluster.holderOf(name.number)
        const other = cluster.nodes.find((node) => node !== owner)!
        await owner.redis.cluster('SETSLOT', slot, 'MIGRATING', await other.redis.cluster('MYID'))
        await assert.rejects(change(), /Too many Cluster redirections/)
        await owner.redis.cluster('SETSLOT', slot, 'STABLE')
        assert.deepEqual(await contents(), former)
        await change()
        assert.equal(await redis.zscore(name.outstanding, batchId!), null)
      } finally {
        redis.disconnect()
      }
    })
})

const goneAlready = ({ batch, sayings }: Settled): Settled => ({ batch: { ...batch, batchId: randomUUID() }, sayings })

const keysOf = async (redis: Cluster, pattern: string): Promise<string[]> =>
  (await Promise.all(redis.nodes('master').map((node) => node.keys(pattern)))).flat().toSorted()

const slotsInUse = async (redis: ClusterNode['redis']): Promise<number[]> => {
  const keys = await redis.keys('*')
  return [...new Set(await Promise.all(keys.map((key) => redis.cluster('KEYSLOT', key))))]
}

type Move = { from: ClusterNode; to: ClusterNode; all: readonly ClusterNode[] }

/** As `redis-cli --cluster reshard` does. */
const moveSlot = async (slot: number, { from, to, all }: Move): Promise<void> => {
  const [fromId, toId] = (await Promise.all([from, to].map(({ redis }) => redis.cluster('MYID')))) as [string, string]
  await to.redis.cluster('SETSLOT', slot, 'IMPORTING', fromId)
  await from.redis.cluster('SETSLOT', slot, 'MIGRATING', toId)
  const { username, password } = from.redis.options
  for (;;) {
    const keys = await from.redis.cluster('GETKEYSINSLOT', slot, KEYS_AT_ONCE)
    if (keys.length === 0) break
    const login = ['AUTH2', username ?? 'default', password!]
    await from.redis.call('MIGRATE', '127.0.0.1', to.port, '', 0, 5_000, ...login, 'KEYS', ...keys)
    await pause(BETWEEN_KEYS_MS)
  }
  for (const { redis } of [to, from, ...all.filter((node) => node !== from && node !== to)]) {
    await redis.cluster('SETSLOT', slot, 'NODE', toId)
  }
}
