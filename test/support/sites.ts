import { setTimeout as pause } from 'node:timers/promises'
import { workspaceKeys } from '../../queue/keys.ts'
import { serveOn } from './host-server.ts'
import { type Network, type NetworkHost, startNetwork } from './network.ts'
import { type PostgresPair, startPostgresPair } from './postgres-pair.ts'
import type { Service } from './service.ts'
import { REDIS_HOSTS, type RedisHost, type RedisKind, type RedisRoles, START_REDIS } from './sites-redis.ts'
import { startHistoryService } from './submitted-history.ts'
import { startParts } from './temporary-directory.ts'

export type HostName = 'api' | 'worker' | RedisHost | 'postgres1' | 'postgres2'

/** The current roles. In a cluster, the master is the one with the log of the workspace. */
type Roles = RedisRoles & {
  readonly primary: HostName
  readonly all: readonly HostName[]
}

/** A service on separate hosts: Redis with replicas, Postgres with a synchronous standby. */
export type Sites = {
  readonly network: Network<HostName>
  readonly pair: PostgresPair
  readonly service: Service
  readonly roles: () => Promise<Roles>
  /** Makes the standby the primary. */
  readonly promote: () => Promise<void>
  /** The serving process on a host. */
  readonly pidOf: (host: HostName) => number
  /** Waits until each master of Redis has its replicas. */
  readonly untilWhole: () => Promise<unknown>
  readonly stop: () => Promise<void>
}

export const hostsWith = (kind: RedisKind): readonly HostName[] => [
  'api',
  'worker',
  ...REDIS_HOSTS[kind],
  'postgres1',
  'postgres2',
]

/** Starts a service on hosts of its own: seven with sentinels, or ten with a cluster of Redis. */
export const startSites = (kind: RedisKind = 'sentinels'): Promise<Sites> =>
  startParts('sites', async (running, directory) => {
    const names = hostsWith(kind)
    const network = startNetwork(names)
    running.defer(network.stop)
    const { hosts } = network
    const redis = await START_REDIS[kind]({ directory, hosts, running })
    const postgresPids: number[] = []
    const place = (host: NetworkHost) => ({
      address: host.address,
      start: async (options: Parameters<typeof serveOn>[2]) => {
        const server = await serveOn(host, 'postgres', options)
        postgresPids.push(server.pid)
        return server
      },
    })
    const pair = await startPostgresPair({
      isSynchronous: true,
      places: [place(hosts.postgres1), place(hosts.postgres2)],
    })
    running.defer(pair.stop)
    const service = await startHistoryService({
      databaseUrl: pair.url,
      redisUrl: redis.url,
      hosts: { api: hosts.api, worker: hosts.worker },
      environment: { REDIS_REPLICAS_ACK: String(redis.replicas) },
    })
    running.defer(service.stop)
    const { state } = workspaceKeys(service.redisPrefix, service.workspaceId)
    let primary: HostName = 'postgres1'
    const pids: Record<string, number> = { api: service.apiPids[0]!, worker: service.workerPids[0]!, ...redis.pids }
    for (const [index, name] of ['postgres1', 'postgres2'].entries()) pids[name] = postgresPids[index]!
    return {
      network,
      pair,
      service,
      roles: async () => ({ ...(await redis.rolesOf(state)), primary, all: names }),
      untilWhole: redis.untilWhole,
      promote: async () => {
        await pair.promote()
        primary = 'postgres2'
      },
      pidOf: (host) => pids[host]!,
    }
  })

type Way = readonly [from: HostName, to: HostName]

const both = (host: HostName, peers: readonly HostName[]): Way[] =>
  peers.flatMap((peer): Way[] => [
    [host, peer],
    [peer, host],
  ])
const others = (name: HostName, all: readonly HostName[]): HostName[] => all.filter((other) => other !== name)

/** The directions that each partition cuts. */
export const PARTITIONS: Readonly<Record<string, (roles: Roles) => readonly Way[]>> = {
  'the API from Redis': ({ master }) => both('api', [master]),
  'the API from Redis, towards Redis only': ({ master }) => [['api', master]],
  'the API from Redis, towards the API only': ({ master }) => [[master, 'api']],
  'the API from Postgres': ({ primary }) => both('api', [primary]),
  'a worker from Redis': ({ master }) => both('worker', [master]),
  'a worker from Postgres': ({ primary }) => both('worker', [primary]),
  'a worker from Postgres, towards the worker only': ({ primary }) => [[primary, 'worker']],
  'Redis from its replicas': ({ master, replicas }) => both(master, replicas),
  'Postgres from its standby': () => both('postgres1', ['postgres2']),
  'the site of the master of Redis from all others': ({ master, all }) => both(master, others(master, all)),
}
/** The partitions that are tested with a cluster as well. */
export const PARTITIONS_OF_CLUSTERS = [
  'the API from Redis',
  'a worker from Redis',
  'Redis from its replicas',
  'the site of the master of Redis from all others',
]

/** Partitions the network. The returned function mends it. */
const part = async ({ network, roles }: Sites, name: string): Promise<() => void> => {
  const mends = PARTITIONS[name]!(await roles()).map(([from, to]) => network.cut(from, to))
  return () => {
    for (const mend of mends) mend()
  }
}

/** Partitions the network for `ms`, or ten times for a tenth of `ms`, with equal pauses. */
export const partFor = async (
  sites: Sites,
  { name, ms, isFlapping }: { name: string; ms: number; isFlapping: boolean },
): Promise<void> => {
  const times = isFlapping ? 10 : 1
  for (let time = 0; time < times; time++) {
    const mend = await part(sites, name)
    await pause(ms / times)
    mend()
    if (isFlapping) await pause(ms / times)
  }
}
