import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { serveOn } from './host-server.ts'
import type { NetworkHost } from './network.ts'
import { CLUSTER_MASTERS, type ClusterNode, formCluster } from './redis-cluster.ts'
import { clientOf, startRedisNode } from './redis-node.ts'
import { shortenTilt, startSentinel } from './redis-sentinel.ts'
import { until } from './until.ts'

export type RedisHost = (typeof REDIS_HOSTS)['cluster'][number]

/** The first three hosts of a cluster begin as masters. Each replica is three places later. */
export const REDIS_HOSTS = {
  sentinels: ['redis1', 'redis2', 'redis3'],
  cluster: ['redis1', 'redis2', 'redis3', 'redis4', 'redis5', 'redis6'],
} as const
export type RedisKind = keyof typeof REDIS_HOSTS

/** The current master of a key, and its replicas. */
export type RedisRoles = { readonly master: RedisHost; readonly replicas: readonly RedisHost[] }

type SitesRedis = {
  readonly url: string
  /** The number of replicas of a master. */
  readonly replicas: number
  readonly rolesOf: (key: string) => Promise<RedisRoles>
  /** Waits until each master has its replicas. */
  readonly untilWhole: () => Promise<unknown>
  readonly pids: Readonly<Record<string, number>>
}

type Place = {
  readonly directory: string
  readonly hosts: Readonly<Record<RedisHost, NetworkHost>>
  readonly running: AsyncDisposableStack
}
type Node = ClusterNode & { readonly name: RedisHost }

const MASTER = 'main'
const REDIS_PORT = 6_379
const BUS_PORT = 16_379
const SENTINEL_PORT = 26_379
const NODE_TIMEOUT_MS = 1_000
const CLIENT = { maxRetriesPerRequest: 1, commandTimeout: 1_000 }

/** A master with two replicas and three sentinels. */
const startReplicated = async (place: Place): Promise<SitesRedis> => {
  const { hosts, running } = place
  const names = REDIS_HOSTS.sentinels
  /** An admission waits for both. If it waited for one, a promotion of the other could lose it. */
  const replicas = names.length - 1
  const [password, sentinelPassword] = [randomBytes(16).toString('hex'), randomBytes(16).toString('hex')]
  const first = hosts.redis1.address
  const { nodes, pids } = await startNodes(place, names, {
    password,
    replicas,
    settings: (name) => (name === 'redis1' ? [] : [`replicaof ${first} ${REDIS_PORT}`]),
  })
  for (const { name, address, dataDir } of nodes) {
    const sentinel = await startSentinel({
      directory: dataDir,
      port: SENTINEL_PORT,
      via: hosts[name].via,
      lines: [
        `bind ${address}`,
        `requirepass ${sentinelPassword}`,
        `sentinel sentinel-pass ${sentinelPassword}`,
        `sentinel monitor ${MASTER} ${first} ${REDIS_PORT} 2`,
        `sentinel auth-pass ${MASTER} ${password}`,
        `sentinel down-after-milliseconds ${MASTER} 1000`,
        `sentinel failover-timeout ${MASTER} 5000`,
        `sentinel parallel-syncs ${MASTER} 2`,
      ],
    })
    running.defer(sentinel.stop)
  }
  const clients = nodes.map((node) => ({
    ...node,
    sentinel: clientOf(running, `redis://:${sentinelPassword}@${node.address}:${SENTINEL_PORT}`, CLIENT),
  }))
  // A sentinel that has just been started may not listen yet.
  const answers = (sentinel: Redis): Promise<boolean> => shortenTilt(sentinel).then(Boolean, () => false)
  for (const { sentinel } of clients) await until('the sentinel answers', () => answers(sentinel))
  const master = async (): Promise<(typeof clients)[number] | undefined> => {
    const views = await Promise.all(
      clients.map(({ sentinel }) =>
        sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER).then(
          (answer) => (answer as [string])[0],
          () => undefined,
        ),
      ),
    )
    return clients.find(({ address }) => views.filter((view) => view === address).length >= 2)
  }
  const untilWhole = () =>
    until('the master has both replicas', async () => {
      const { redis, sentinel } = (await master()) ?? {}
      const others = (await sentinel?.call('SENTINEL', 'SENTINELS', MASTER).catch(() => [])) as unknown[] | undefined
      return redis !== undefined && (await replicasOnline(redis)) === replicas && others?.length === 2
    })
  await untilWhole()
  const sentinels = names.map((name) => `${hosts[name].address}:${SENTINEL_PORT}`).join(',')
  return {
    url: `redis+sentinel://default:${password}@${sentinels}/${MASTER}?sentinelPassword=${sentinelPassword}`,
    replicas,
    rolesOf: async () => {
      const { name } = (await master()) ?? assert.fail('the sentinels do not agree')
      return { master: name, replicas: names.filter((other) => other !== name) }
    },
    untilWhole,
    pids,
  }
}

/** A cluster of three masters with a replica each. */
const startClustered = async (place: Place): Promise<SitesRedis> => {
  const names = REDIS_HOSTS.cluster
  const replicas = 1
  const password = randomBytes(16).toString('hex')
  const { nodes, pids } = await startNodes(place, names, {
    password,
    replicas,
    settings: (name) => [
      'cluster-enabled yes',
      'cluster-config-file nodes.conf',
      `cluster-node-timeout ${NODE_TIMEOUT_MS}`,
      `cluster-announce-ip ${place.hosts[name].address}`,
    ],
  })
  await formCluster(nodes, replicas)
  const pairs = nodes
    .slice(0, CLUSTER_MASTERS)
    .map((node, index): [Node, Node] => [node, nodes[index + CLUSTER_MASTERS]!])
  const isComplete = async (pair: readonly Node[]): Promise<boolean> => {
    const online = await Promise.all(pair.map(({ redis }) => replicasOnline(redis)))
    return online.includes(0) && online.includes(1)
  }
  const untilWhole = () =>
    until('each master has its replica, and no node counts as failed', async () => {
      const views = await Promise.all(nodes.map(({ redis }) => redis.cluster('NODES').then(String, () => 'fail')))
      return !views.some((view) => view.includes('fail')) && (await Promise.all(pairs.map(isComplete))).every(Boolean)
    })
  await untilWhole()
  return {
    url: `redis+cluster://default:${password}@${nodes.map(({ address }) => `${address}:${REDIS_PORT}`).join(',')}`,
    replicas,
    rolesOf: async (key) => {
      // The other nodes refuse the key.
      const holder = () => Promise.any(nodes.map(async (node) => node.redis.exists(key).then(() => node)))
      const master = await until(`a node has ${key}`, () => holder().catch(() => undefined))
      const pair = pairs.find((nodesOfPair) => nodesOfPair.includes(master))!
      return { master: master.name, replicas: pair.filter((node) => node !== master).map(({ name }) => name) }
    },
    untilWhole,
    pids,
  }
}

/** The number of replicas that a server counts as online: 0 if it does not answer. */
const replicasOnline = async (redis: Redis): Promise<number> => {
  const info = await redis.info('replication').catch(() => '')
  return info.match(/state=online/g)?.length ?? 0
}

type Wanted = {
  readonly password: string
  readonly replicas: number
  readonly settings: (name: RedisHost) => readonly string[]
}

const startNodes = async (
  { directory, hosts, running }: Place,
  names: readonly RedisHost[],
  { password, replicas, settings }: Wanted,
): Promise<{ nodes: Node[]; pids: Record<string, number> }> => {
  const nodes: Node[] = []
  for (const name of names) {
    const { address } = hosts[name]
    const node = await startRedisNode(running, join(directory, name), {
      password,
      address,
      port: REDIS_PORT,
      client: CLIENT,
      start: (order) => serveOn(hosts[name], 'redis', order),
      settings: [
        `bind 127.0.0.1 ${address}`,
        `replica-announce-ip ${address}`,
        'repl-diskless-sync-delay 0',
        // Replicas that were away for seconds can resume without a full copy.
        'repl-backlog-size 64mb',
        'repl-timeout 10',
        `min-replicas-to-write ${replicas}`,
        'min-replicas-max-lag 5',
        ...settings(name),
      ],
    })
    nodes.push({ ...node, name, busPort: BUS_PORT })
  }
  return { nodes, pids: Object.fromEntries(nodes.map(({ name, pid }) => [name, pid])) }
}

export const START_REDIS: Readonly<Record<RedisKind, (place: Place) => Promise<SitesRedis>>> = {
  sentinels: startReplicated,
  cluster: startClustered,
}
