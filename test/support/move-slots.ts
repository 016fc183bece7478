import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import type { ClusterNode, RedisCluster } from './redis-cluster.ts'

/** Few keys, with a pause between them, so that the two nodes share a slot for long. */
const KEYS_AT_ONCE = 5
const BETWEEN_KEYS_MS = 20
const ROUNDS = process.env['TEST_SIZE'] === 'long' ? 3 : 1

/**
 * Moves each slot with keys to the next node, one after the other. Returns the number of moved
 * slots.
 */
export const moveAllSlots = async ({ nodes }: RedisCluster): Promise<number> => {
  let moved = 0
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, from] of nodes.entries()) {
      for (const slot of await slotsInUse(from.redis)) {
        await moveSlot(slot, { from, to: nodes[(index + 1) % nodes.length]!, all: nodes })
        moved++
      }
    }
  }
  return moved
}

const slotsInUse = async (redis: ClusterNode['redis']): Promise<number[]> => {
  const keys = await redis.keys('*')
  return [...new Set(await Promise.all(keys.map((key) => redis.cluster('KEYSLOT', key))))]
}

type Move = { from: ClusterNode; to: ClusterNode; all: readonly ClusterNode[] }

/** The same steps as `redis-cli --cluster reshard`. */
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
