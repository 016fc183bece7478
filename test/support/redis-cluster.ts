import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { findLastingPort } from './lasting-port.ts'
import type { Authority } from './certificates.ts'
import { type RedisNode, startRedisNode } from './redis-node.ts'
import { until } from './until.ts'
import { startParts } from './temporary-directory.ts'

export type ClusterNode = RedisNode & { readonly busPort: number }

export type RedisCluster = {
  /**
   * The address of the cluster, in the form of REDIS_URL. It names only the first node; a client
   * finds the others.
   */
  readonly url: string
  readonly nodes: readonly ClusterNode[]
  /** The master for a key. */
  readonly holderOf: (key: string) => Promise<ClusterNode>
  /** Waits until every node reports that all slots are served. */
  readonly untilWhole: () => Promise<unknown>
  readonly stop: () => Promise<void>
}

/** The number of masters. They are the first nodes. */
export const CLUSTER_MASTERS = 3
const SLOTS = 16_384

/**
 * Starts a cluster of three masters. Each has a third of the slots and `replicas` replicas, and is
 * as durable as the Redis of `npm start`. With an authority, the nodes use TLS with each other, and
 * `url` names a port for TLS. A node that is silent for `nodeTimeoutMs` counts as dead. The nodes
 * refuse commands while a slot has no living master, or most masters are dead.
 */
export const startRedisCluster = ({
  replicas = 0,
  authority,
  nodeTimeoutMs = 2_000,
}: { replicas?: number; authority?: Authority; nodeTimeoutMs?: number } = {}): Promise<RedisCluster> => {
  return startParts('cluster', async (running, directory) => {
    const password = randomBytes(16).toString('hex')
    const nodes: ClusterNode[] = []
    for (let index = 0; index < CLUSTER_MASTERS * (1 + replicas); index++) {
      const busPort = await findLastingPort()
      const settings = [
        'cluster-enabled yes',
        'cluster-config-file nodes.conf',
        `cluster-node-timeout ${nodeTimeoutMs}`,
        `cluster-port ${busPort}`,
        ...(authority ? ['tls-cluster yes'] : []),
      ]
      const node = await startRedisNode(running, join(directory, String(index)), { password, settings, authority })
      nodes.push({ ...node, busPort })
    }
    await formCluster(nodes, replicas)
    const untilWhole = () => until('all slots of the cluster are served', () => servesAll(nodes))
    const protocol = authority === undefined ? 'redis' : 'rediss'
    const url = `${protocol}+cluster://default:${password}@127.0.0.1:${nodes[0]!.reachedAt}`
    // The other nodes refuse the key.
    const holderOf = (key: string) =>
      Promise.any(nodes.map(async (node) => node.redis.exists(key).then((): ClusterNode => node)))
    return { url, nodes, holderOf, untilWhole }
  })
}

/** Joins new servers to a cluster. `nodes`: the masters, then a replica of each of them in turn. */
export const formCluster = async (nodes: readonly ClusterNode[], replicas: number): Promise<void> => {
  const masters = nodes.slice(0, CLUSTER_MASTERS)
  for (const [index, { redis, address, reachedAt, busPort }] of nodes.entries()) {
    const [from, to] = [
      Math.ceil((index * SLOTS) / CLUSTER_MASTERS),
      Math.ceil(((index + 1) * SLOTS) / CLUSTER_MASTERS) - 1,
    ]
    if (index < CLUSTER_MASTERS) await redis.cluster('ADDSLOTSRANGE', from, to)
    // Redis accepts this only while the node knows no other node.
    await redis.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)
    await nodes[0]!.redis.call('CLUSTER', 'MEET', address, reachedAt, busPort)
  }
  await until('all slots of the cluster are served', () => servesAll(nodes))
  for (const [index, { redis }] of nodes.slice(CLUSTER_MASTERS).entries()) {
    await redis.call('CLUSTER', 'REPLICATE', await masters[index % CLUSTER_MASTERS]!.redis.cluster('MYID'))
  }
  await until('each master has its replicas', async () => {
    const infos = await Promise.all(masters.map(({ redis }) => redis.info('replication')))
    return infos.every((info) => info.match(/state=online/g)?.length === (replicas || undefined))
  })
}

const servesAll = async (nodes: readonly Pick<ClusterNode, 'redis'>[]): Promise<boolean> => {
  const infos = await Promise.all(nodes.map(({ redis }) => redis.cluster('INFO')))
  return infos.every(
    (info) => info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${nodes.length}`),
  )
}

/** Keys move in small groups with pauses, so that two nodes share a slot for long. */
const KEYS_AT_ONCE = 5
const BETWEEN_KEYS_MS = 20
const ROUNDS = process.env['TEST_SIZE'] === 'long' ? 3 : 1

/**
 * For each node in turn, moves its slots in use to the next node, one by one. Returns the number of
 * moves.
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
