import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { workspaceKeys } from '../../queue/keys.ts'
import { serveOn } from './host-server.ts'
import { type Network, type NetworkHost, startNetwork } from './network.ts'
import { type PostgresPair, startPostgresPair } from './postgres-pair.ts'
import { type Service, startService } from './service.ts'
import { REDIS_HOSTS, type RedisHost, type RedisKind, type RedisRoles, START_REDIS } from './sites-redis.ts'

export type HostName = 'api' | 'worker' | RedisHost | 'postgres1' | 'postgres2'

/** The current roles. The master is the one with the books, also in a cluster. */
export type Roles = RedisRoles & {
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
  /** The serving process on a host, with its children. */
  readonly pidOf: (host: HostName) => number
  /** Waits until each master of Redis has its replicas. */
  readonly isWhole: () => Promise<unknown>
  readonly stop: () => Promise<void>
}

export const hostsWith = (kind: RedisKind): readonly HostName[] => [
  'api',
  'worker',
  ...REDIS_HOSTS[kind],
  'postgres1',
  'postgres2',
]

/** By default Redis has three sentinels, which makes seven hosts; a cluster makes ten. */
export const startSites = async (kind: RedisKind = 'sentinels'): Promise<Sites> => {
  const directory = mkdtempSync(join(tmpdir(), 'feedback-insights-sites-'))
  const running = new AsyncDisposableStack()
  running.defer(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }))
  try {
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
    const service = await startService({
      databaseUrl: pair.url,
      redisUrl: redis.url,
      hosts: { api: hosts.api, worker: hosts.worker },
      environment: { CONVERSATIONS_PER_MINUTE: '1000000', REDIS_REPLICAS_ACK: String(redis.replicas) },
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
      isWhole: redis.isWhole,
      promote: async () => {
        await pair.promote()
        primary = 'postgres2'
      },
      pidOf: (host) => pids[host]!,
      stop: () => running.disposeAsync(),
    }
  } catch (error) {
    await running.disposeAsync()
    throw error
  }
}
