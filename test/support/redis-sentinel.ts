import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import type { Redis } from 'ioredis'
import { redisBinary } from '../../cli/start/embedded/redis-binary.ts'
import { findLastingPort } from './lasting-port.ts'
import type { Authority } from './certificates.ts'
import { clientOf, startRedisNode } from './redis-node.ts'
import { redisTlsSettings } from './serve-tls.ts'
import { killAtExit } from './service-process.ts'
import { until } from './until.ts'
import { startParts } from './temporary-directory.ts'

export type RedisSentinel = {
  /** The address in the form of REDIS_URL. */
  readonly url: string
  /** The process that is the replica until a failover. */
  readonly replicaPid: number
  /** Kills the master. Resolves when the sentinel has promoted the replica. */
  readonly failOver: () => Promise<void>
  /** Starts the former master again. Resolves when it is a replica. */
  readonly bringBack: () => Promise<void>
  readonly stop: () => Promise<void>
}

const MASTER = 'main'
/**
 * A sentinel pings once a second. With a time-out of one second, the sentinel sometimes took the
 * new master for dead after the switch, and promoted the former master.
 */
const DOWN_AFTER_MS = 3_000
const FAILOVER_TIMEOUT_MS = 5_000

/**
 * Starts a master, a replica and a sentinel, with passwords. With an authority, the three use TLS
 * with each other, and `url` names a port for TLS.
 */
export const startRedisSentinel = (authority?: Authority): Promise<RedisSentinel> => {
  return startParts('sentinel', async (running, directory) => {
    const [password, sentinelPassword] = [randomBytes(16).toString('hex'), randomBytes(16).toString('hex')]
    const server = (name: string, settings: readonly string[]) =>
      startRedisNode(running, join(directory, name), { password, settings, authority })
    const master = await server('master', [])
    const replica = await server('replica', [`replicaof 127.0.0.1 ${master.reachedAt}`])
    await until('the replica is in step', () => areInStep(master.redis, replica.redis))
    const port = await findLastingPort()
    const tlsPort = authority && (await findLastingPort())
    const sentinelDirectory = join(directory, 'sentinel')
    mkdirSync(sentinelDirectory)
    const sentinel = await startSentinel({
      directory,
      port,
      lines: [
        ...(authority ? redisTlsSettings(sentinelDirectory, { port: tlsPort!, authority }) : []),
        `requirepass ${sentinelPassword}`,
        `sentinel monitor ${MASTER} 127.0.0.1 ${master.reachedAt} 1`,
        `sentinel auth-pass ${MASTER} ${password}`,
        `sentinel down-after-milliseconds ${MASTER} ${DOWN_AFTER_MS}`,
        `sentinel failover-timeout ${MASTER} ${FAILOVER_TIMEOUT_MS}`,
      ],
    })
    running.defer(sentinel.stop)
    const client = clientOf(running, `redis://:${sentinelPassword}@127.0.0.1:${port}`)
    await shortenTilt(client)
    await lookOften(client)
    await until('the sentinel knows the replica', async () => {
      const known = (await client.call('SENTINEL', 'REPLICAS', MASTER)) as unknown[]
      return known.length === 1
    })
    const protocol = authority === undefined ? 'redis' : 'rediss'
    return {
      url: `${protocol}+sentinel://default:${password}@127.0.0.1:${tlsPort ?? port}/${MASTER}?sentinelPassword=${sentinelPassword}`,
      replicaPid: replica.pid,
      failOver: async () => {
        await master.kill()
        const isPromoted = async () => {
          const address = (await client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER)) as [string, string]
          return Number(address[1]) === replica.reachedAt
        }
        await until('the replica is the master', isPromoted)
      },
      bringBack: async () => {
        await master.start()
        await until('the former master is a replica', async () => (await roleOf(master.redis)) === 'slave')
      },
    }
  })
}

const roleOf = async (redis: Redis): Promise<string> => ((await redis.call('ROLE')) as [string])[0]

const areInStep = async (master: Redis, replica: Redis): Promise<boolean> => {
  const [at, [role, , , state, offset]] = await Promise.all([
    master.call('ROLE') as Promise<[role: string, offset: number]>,
    replica.call('ROLE') as Promise<[role: string, host: string, port: number, state: string, offset: number]>,
  ])
  return role === 'slave' && state === 'connected' && offset >= at[1]
}

/**
 * A sentinel that stalls for two seconds does nothing for the next half minute (`TILT`). Tests that
 * share two cores cause such stalls.
 */
export const shortenTilt = (sentinel: Redis): Promise<unknown> =>
  sentinel.call('SENTINEL', 'DEBUG', 'tilt-period', '1000')

/** Makes a former master a replica sooner than by default. */
const lookOften = (sentinel: Redis): Promise<unknown> =>
  sentinel.call('SENTINEL', 'DEBUG', 'info-period', '1000', 'publish-period', '500')

type SentinelOptions = { directory: string; port: number; lines: readonly string[]; via?: readonly string[] }

export const startSentinel = async ({ directory, port, lines, via = [] }: SentinelOptions) => {
  const { program, env } = await redisBinary(console.log)
  const file = join(directory, 'sentinel.conf')
  // The sentinel writes its state into this file.
  writeFileSync(
    file,
    [`port ${port}`, ...lines, `dir ${directory}`, `logfile ${join(directory, 'sentinel.log')}`, ''].join('\n'),
  )
  const [command, ...args] = [...via, program, file, '--sentinel']
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: 'ignore' })
  killAtExit(child)
  return {
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    },
  }
}
