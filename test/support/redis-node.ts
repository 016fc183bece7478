import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { Redis } from 'ioredis'
import { startRedis } from '../../cli/start/embedded/redis-server.ts'
import type { EmbeddedServer } from '../../cli/start/embedded/server.ts'
import { findLastingPort } from './lasting-port.ts'
import type { Authority } from './certificates.ts'
import { redisTlsSettings } from './serve-tls.ts'

/** A Redis server of a cluster, or of a master with replicas. */
export type RedisNode = {
  readonly dataDir: string
  readonly address: string
  readonly port: number
  /** The port for clients and other servers. With an authority, it is the port for TLS. */
  readonly reachedAt: number
  /** The process before the first `kill`. */
  readonly pid: number
  /** A connection to only this server. */
  readonly redis: Redis
  /** Kills the server, and waits for its end. */
  readonly kill: () => Promise<void>
  /** Starts the server again with its data, on its known port. */
  readonly start: () => Promise<void>
}

type ClientOptions = { maxRetriesPerRequest: number | null; commandTimeout?: number }
type Order = { dataDir: string; settings: readonly string[]; port?: number }
type NodeOptions = {
  readonly password: string
  readonly settings: readonly string[]
  readonly authority?: Authority | undefined
  /** The address of the server for the others. */
  readonly address?: string
  readonly start?: (order: Order) => Promise<EmbeddedServer>
  readonly port?: number
  readonly client?: ClientOptions
}

const UNTIL_ANSWERED: ClientOptions = { maxRetriesPerRequest: null }

/** Starts a server in a new directory. The server ends with `running`. */
export const startRedisNode = async (
  running: AsyncDisposableStack,
  dataDir: string,
  {
    password,
    settings: given,
    authority,
    address = '127.0.0.1',
    start = startRedis,
    port: wanted,
    client,
  }: NodeOptions,
): Promise<RedisNode> => {
  mkdirSync(dataDir)
  writeFileSync(join(dataDir, 'password'), password, { mode: 0o600 })
  const tlsPort = authority && (await findLastingPort())
  const ofTls = authority ? redisTlsSettings(dataDir, { port: tlsPort!, authority }) : []
  const settings = [`masterauth ${password}`, ...ofTls, ...given]
  const port = wanted ?? (await findLastingPort())
  let server = await start({ dataDir, settings, port })
  running.defer(() => server.stop())
  const { pid } = server
  return {
    dataDir,
    address,
    port,
    reachedAt: tlsPort ?? port,
    pid,
    redis: clientOf(running, `redis://default:${password}@${address}:${port}`, client),
    kill: async () => {
      process.kill(server.pid, 'SIGKILL')
      await server.exited
    },
    start: async () => {
      server = await start({ dataDir, settings, port })
    },
  }
}

/** A client that ends with `running`. */
export const clientOf = (
  running: AsyncDisposableStack,
  url: string,
  options: ClientOptions = UNTIL_ANSWERED,
): Redis => {
  const client = new Redis(url, options)
  client.on('error', () => {})
  running.defer(() => client.disconnect())
  return client
}
