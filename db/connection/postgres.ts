import { isIP } from 'node:net'
import postgres from 'postgres'
import { readPostgresUrl } from '../../runtime/postgres-address.ts'
import { ARRAY_TYPES } from './array-types.ts'
import { DEFAULT_PORT, type FollowedPrimary, followPrimary } from './follow-primary.ts'
import { withWholeResults } from './whole-results.ts'

export type Sql = postgres.Sql

export type PostgresOptions = {
  /** The most connections of the pool. */
  connections: number
  /** The server cancels a statement that takes longer. */
  statementTimeoutMs: number
  applicationName: string
  /** The schema to work in; by default that of the role. */
  schema?: string
  /**
   * The mode of a pooler in between. In mode `transaction`, each transaction may get another
   * connection of the server. So statements are not prepared, and session settings have to be set
   * for the role.
   */
  pooler?: 'session' | 'transaction'
  /**
   * The sessions are read-only. Behind a pooler in mode `transaction`, this has to be set for the
   * role.
   */
  isReadOnly?: boolean
  /** With several servers: called with host and port of each further primary. */
  onPrimary?: (server: string) => void
}

const CONNECT_TIMEOUT_SECONDS = 5
const LOCK_TIMEOUT_MS = 20_000
const FIRST_RECONNECT_SECONDS = 0.05
const LONGEST_RECONNECT_SECONDS = 0.5

/** The driver alone waits up to 20 s before its next attempt, and every statement waits with it. */
const reconnectSeconds = (attempts: number): number =>
  Math.min(FIRST_RECONNECT_SECONDS * 2 ** attempts, LONGEST_RECONNECT_SECONDS)

// The driver's types lack this option. Without it, the driver never answers a statement that it
// sends between the error and the close of a connection. This happened on Bun when backends were
// killed under load.
const ONE_AT_A_TIME = { max_pipeline: 0 }

/**
 * Opens a pool of connections. The driver has no statement time-out, so the server cancels
 * statements. Times are in UTC. Errors of the driver carry `query` and `parameters`: log
 * `describeFault(error)`, never the error itself.
 */
export const connectPostgres = (text: string, options: PostgresOptions): Sql => {
  const address = readPostgresUrl(text)
  if (typeof address === 'string') throw new Error(`DATABASE_URL is not valid: expected ${address}.`)
  if (!address.isPrimaryAsked) return openPool(address.urls[0]!, options)
  const primary = followPrimary(address.urls, {
    open: (url) => openPool(url, { ...options, connections: 1 }),
    isReadOnly: options.isReadOnly ?? false,
    onPrimary: options.onPrimary,
  })
  const sql = openPool(address.urls[0]!, options, primary)
  const end = sql.end.bind(sql)
  sql.end = async (how) => {
    await primary.stop()
    await end(how)
  }
  return sql
}

const openPool = (url: string, options: PostgresOptions, followed?: FollowedPrimary): Sql =>
  withWholeResults(
    postgres(url, {
      max: options.connections,
      connect_timeout: CONNECT_TIMEOUT_SECONDS,
      backoff: reconnectSeconds,
      onnotice: () => {},
      fetch_types: false,
      types: ARRAY_TYPES,
      ...ONE_AT_A_TIME,
      ...placeOf(url),
      ...hostToVerify(url, followed),
      ...(followed && { socket: followed.socket }),
      prepare: options.pooler !== 'transaction',
      connection: {
        application_name: options.applicationName,
        TimeZone: 'UTC',
        ...(options.pooler !== 'transaction' && settingsOfSession(options)),
      },
    }),
  )

/** PgBouncer in mode `transaction` refuses clients with these settings. */
const settingsOfSession = ({ statementTimeoutMs, schema, isReadOnly = false }: PostgresOptions) => ({
  statement_timeout: statementTimeoutMs,
  lock_timeout: LOCK_TIMEOUT_MS,
  idle_in_transaction_session_timeout: statementTimeoutMs,
  // A plan that was made while a table was empty scans the whole table after it has grown, until
  // the next analyze.
  enable_seqscan: 'off',
  ...(isReadOnly && { default_transaction_read_only: true }),
  // Parallel workers would take the processors from the intake.
  max_parallel_workers_per_gather: '0',
  ...(schema !== undefined && { search_path: schema }),
})

/**
 * Host and port, or the socket. The driver splits a host at its first colon, also an IPv6 address.
 * It does not split hosts in a list. It accepts lists, though its types lack them.
 */
const placeOf = (url: string): object => {
  const { hostname, port } = new URL(url)
  if (hostname === '') return {}
  const host = decodeURIComponent(hostname).replaceAll(/[[\]]/g, '')
  if (host.startsWith('/')) return { path: `${host}/.s.PGSQL.${port || DEFAULT_PORT}` }
  return { host: [host], port: [Number(port || DEFAULT_PORT)] }
}

/**
 * If the URL has an IP address, the driver gives TLS no server name, and Deno then expects a
 * certificate for `localhost`. With several servers, the driver knows only the first address. So
 * the getter `host` gives the host of the known primary for each connection.
 */
const hostToVerify = (url: string, followed: FollowedPrimary | undefined): { ssl?: { readonly host: string } } => {
  const { hostname, searchParams } = new URL(url)
  if (searchParams.get('sslmode')?.startsWith('verify-') !== true) return {}
  if (followed !== undefined)
    return {
      ssl: {
        get host() {
          return followed.host()
        },
      },
    }
  const host = hostname.replaceAll(/[[\]]/g, '')
  return isIP(host) === 0 ? {} : { ssl: { host } }
}
