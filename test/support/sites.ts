import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { EmbeddedServer } from '../../cli/start/embedded/server.ts'
import { type Network, type NetworkHost, programOn, startNetwork } from './network.ts'
import { type PostgresPair, startPostgresPair } from './postgres-pair.ts'
import { startSentinel } from './redis-sentinel.ts'
import { type Service, startService } from './service.ts'
import { startProcess } from './service-process.ts'
import { until } from './until.ts'

export const REDIS_HOSTS = ['redis1', 'redis2', 'redis3'] as const
export const HOSTS = ['api', 'worker', ...REDIS_HOSTS, 'postgres1', 'postgres2'] as const
export type HostName = (typeof HOSTS)[number]

/** A service on seven hosts: Redis with two replicas and three sentinels, Postgres with a synchronous standby. */
export type Sites = {
  readonly network: Network<HostName>
  readonly pair: PostgresPair
  readonly service: Service
  /** The host of the master, as most sentinels have it. */
  readonly master: () => Promise<HostName>
  /** The host of the primary. */
  readonly primary: () => HostName
  /** Makes the standby the primary. */
  readonly promote: () => Promise<void>
  /** The process that serves on a host, with its children. */
  readonly pidOf: (host: HostName) => number
  /** Waits until the master has both replicas. */
  readonly isWhole: () => Promise<unknown>
  readonly stop: () => Promise<void>
}

const MASTER = 'main'
/** All of them: with one of two, what was confirmed while sentinels made the other one the master was lost (230 of 30,605 submissions). */
const REPLICAS = REDIS_HOSTS.length - 1
const REDIS_PORT = 6_379
const SENTINEL_PORT = 26_379
const WHOLE_WITHIN_MS = 60_000

export const startSites = async (environment: Readonly<Record<string, string>> = {}): Promise<Sites> => {
  const directory = mkdtempSync(join(tmpdir(), 'feedback-insights-sites-'))
  const running = new AsyncDisposableStack()
  running.defer(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }))
  try {
    const network = startNetwork(HOSTS)
    running.defer(network.stop)
    const { hosts } = network
    const redis = await startReplicatedRedis({ directory, hosts, running })
    const postgresPids: number[] = []
    const place = (host: NetworkHost) => ({
      address: host.address,
      start: async (options: object) => {
        const server = await serveOn(host, { kind: 'postgres', ...options })
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
      environment: { CONVERSATIONS_PER_MINUTE: '1000000', REDIS_REPLICAS_ACK: String(REPLICAS), ...environment },
    })
    running.defer(service.stop)
    let primary: HostName = 'postgres1'
    const pids: Record<string, number> = { api: service.apiPids[0]!, worker: service.workerPids[0]!, ...redis.pids }
    for (const [index, name] of ['postgres1', 'postgres2'].entries()) pids[name] = postgresPids[index]!
    return {
      network,
      pair,
      service,
      master: redis.master,
      isWhole: redis.isWhole,
      primary: () => primary,
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

/** Starts a server on a host; its URL is that of the host itself. */
const serveOn = async (host: NetworkHost, order: object): Promise<EmbeddedServer> => {
  const environment = { SERVE: JSON.stringify(order) }
  const program = await startProcess(programOn('test/support/serve-on-host.ts', host), 'serving', environment)
  const [line] = program.output().match(/^\{"event":"serving".*\}$/m)!
  const { url, pid } = JSON.parse(line) as { url: string; pid: number }
  const isGone = async (): Promise<null> => {
    while (existsSync(`/proc/${pid}`)) await pause(50)
    return null
  }
  return { url, port: program.port, pid, exited: isGone(), stop: program.stop }
}

type Place = { directory: string; hosts: Network<HostName>['hosts']; running: AsyncDisposableStack }

const startReplicatedRedis = async ({ directory, hosts, running }: Place) => {
  const [password, sentinelPassword] = [randomBytes(16).toString('hex'), randomBytes(16).toString('hex')]
  const first = hosts.redis1.address
  const pids: Record<string, number> = {}
  for (const name of REDIS_HOSTS) {
    const dataDir = join(directory, name)
    mkdirSync(dataDir)
    writeFileSync(join(dataDir, 'password'), password, { mode: 0o600 })
    const { address } = hosts[name]
    const settings = [
      `bind 127.0.0.1 ${address}`,
      `masterauth ${password}`,
      `replica-announce-ip ${address}`,
      'repl-diskless-sync-delay 0',
      // Replicas that were away for seconds go on where they were.
      'repl-backlog-size 64mb',
      'repl-timeout 10',
      `min-replicas-to-write ${REPLICAS}`,
      'min-replicas-max-lag 5',
      ...(name === 'redis1' ? [] : [`replicaof ${first} ${REDIS_PORT}`]),
    ]
    const server = await serveOn(hosts[name], { kind: 'redis', dataDir, port: REDIS_PORT, settings })
    running.defer(server.stop)
    pids[name] = server.pid
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
  const clients = REDIS_HOSTS.map((name) => {
    const { address } = hosts[name]
    const options = { maxRetriesPerRequest: 1, commandTimeout: 1_000 }
    const server = new Redis(`redis://default:${password}@${address}:${REDIS_PORT}`, options)
    const sentinel = new Redis(`redis://:${sentinelPassword}@${address}:${SENTINEL_PORT}`, options)
    for (const client of [server, sentinel]) {
      client.on('error', () => {})
      running.defer(() => client.disconnect())
    }
    return { name, server, sentinel, address }
  })
  const master = async () => {
    const said = await Promise.all(
      clients.map(({ sentinel }) =>
        sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER).then(
          (answer) => (answer as [string])[0],
          () => undefined,
        ),
      ),
    )
    return clients.find(({ address }) => said.filter((one) => one === address).length >= 2)?.name
  }
  const isWhole = () =>
    until(
      'the master has both replicas',
      async () => {
        const name = await master()
        const { server, sentinel } = clients.find((client) => client.name === name) ?? {}
        const info = await server?.info('replication').catch(() => '')
        const others = (await sentinel?.call('SENTINEL', 'SENTINELS', MASTER).catch(() => [])) as unknown[] | undefined
        return info?.match(/state=online/g)?.length === REPLICAS && others?.length === 2
      },
      WHOLE_WITHIN_MS,
    )
  await isWhole()
  const sentinels = REDIS_HOSTS.map((name) => `${hosts[name].address}:${SENTINEL_PORT}`).join(',')
  return {
    url: `redis+sentinel://default:${password}@${sentinels}/${MASTER}?sentinelPassword=${sentinelPassword}`,
    master: async () => (await master()) ?? assert.fail('the sentinels do not agree'),
    isWhole,
    pids,
  }
}
