import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { Cluster } from 'ioredis'
import type { Admit } from '../../queue/admission.ts'
import { createAdmit } from '../../queue/admit.ts'
import { connectToAnswer } from '../../queue/connect-redis.ts'
import { workspaceKeys } from '../../queue/keys.ts'
import { createLog, type Log } from '../../queue/log.ts'
import { outlive } from '../support/outlive.ts'
import { asked, wakesNobody } from '../support/queue-room.ts'
import { type ClusterNode, type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts'
import { type Service, startService } from '../support/service.ts'

/** Few, and with a pause between them, so that the two nodes share a slot for long. */
const KEYS_AT_ONCE = 5
const BETWEEN_KEYS_MS = 20
/** Higher than any number by the clock, so that it is the number of the first submission. */
const FIRST_NUMBER = 4_000_000_000_000_000
const ROUNDS = process.env['TEST_SIZE'] === 'long' ? 3 : 1

describe('a Redis Cluster whose slots move under load', () => {
  let cluster: RedisCluster
  let service: Service
  before(async () => {
    cluster = await startRedisCluster()
    const environment = { CONVERSATIONS_PER_MINUTE: '1000000' }
    service = await startService({ apis: 2, redisUrl: cluster.url, environment })
    await service.queues.tagging.pause()
  })
  after(async () => {
    await service.stop()
    await cluster.stop()
  })

  it('stores what is confirmed meanwhile as the model has it', async () => {
    let moved = 0
    const strike = async (): Promise<void> => {
      for (let round = 0; round < ROUNDS; round++) {
        for (const [index, from] of cluster.nodes.entries()) {
          const to = cluster.nodes[(index + 1) % cluster.nodes.length]!
          for (const slot of await slotsInUse(from.redis)) {
            await moveSlot(slot, { from, to, all: cluster.nodes })
            moved++
          }
        }
      }
    }
    const { size } = await outlive(service, { strike, purges: false })
    console.log(`${moved} slots moved: ${size} confirmed`)
    assert.ok(moved > 5 * ROUNDS)
  })

  type Change = (room: { admit: Admit; log: Log }, workspaceId: string) => Promise<unknown>
  const taking = { worker: 'w', leaseMs: 10_000, submissions: 10, bytes: 100_000, takesDeep: true, redoMs: 0 }
  const changes: Readonly<Record<string, Change>> = {
    admitted: ({ admit }, workspaceId) =>
      admit(asked({ workspaceId, idempotency: { key: 'k', body: 'b' }, limit: { tokens: 5, windowMs: 60_000 } })),
    taken: ({ log }, workspaceId) => log.take([{ workspaceId }], taking),
    'trimmed and taken': ({ log }, workspaceId) => log.take([{ workspaceId, applied: FIRST_NUMBER }], taking),
  }
  for (const [what, carryOut] of Object.entries(changes))
    it(`changes nothing of a log that is to be ${what} while its slot moves`, async () => {
      const redis = connectToAnswer(cluster.url) as Cluster
      redis.on('error', () => {})
      try {
        await once(redis, 'ready')
        const workspaceId = randomUUID()
        const prefix = service.redisPrefix
        const floorOf = async () => FIRST_NUMBER - 1
        const admit = createAdmit({ redis, prefix, wake: wakesNobody, floorOf, findStoredKey: async () => null })
        for (const key of ['one', 'two']) await admit(asked({ workspaceId, idempotency: { key, body: 'b' } }))
        const name = workspaceKeys(prefix, workspaceId)
        const contents = async (): Promise<unknown> =>
          Promise.all((await keysOf(redis, name.every)).map(async (key) => [key, await redis.dumpBuffer(key)]))
        const former = await contents()
        const change = () => carryOut({ admit, log: createLog(redis, prefix) }, workspaceId)
        const slot = await cluster.nodes[0]!.redis.cluster('KEYSLOT', name.state)
        const owner = await cluster.holderOf(name.state)
        const other = cluster.nodes.find((node) => node !== owner)!
        await owner.redis.cluster('SETSLOT', slot, 'MIGRATING', await other.redis.cluster('MYID'))
        await assert.rejects(change(), /Too many Cluster redirections/)
        await owner.redis.cluster('SETSLOT', slot, 'STABLE')
        assert.deepEqual(await contents(), former)
        await change()
        assert.notDeepEqual(await contents(), former)
      } finally {
        redis.disconnect()
      }
    })
})

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
