import { isIP } from 'node:net'
import postgres from 'postgres'
import { ARRAY_TYPES } from './array-types.ts'

export type Sql = postgres.Sql

export type PostgresOptions = {
  /** Connections at most. */
  connections: number
  /** A statement that takes longer is cancelled by the server. */
  statementTimeoutMs: number
  applicationName: string
  /** The schema to work in; tests have their own. */
  schema?: string
  /**
   * A pooler in this mode gives each transaction another connection of the server: no prepared statements, and what is set for
   * a session has to be set for the role.
   */
  pooler?: 'session' | 'transaction'
}

const CONNECT_TIMEOUT_SECONDS = 5
const LOCK_TIMEOUT_MS = 20_000
const FIRST_RECONNECT_SECONDS = 0.05
const LONGEST_RECONNECT_SECONDS = 0.5

/** By itself the driver waits up to 20 s for its next attempt, and whoever asks meanwhile waits as long. */
const reconnectSeconds = (attempts: number): number =>
  Math.min(FIRST_RECONNECT_SECONDS * 2 ** Math.min(attempts, 10), LONGEST_RECONNECT_SECONDS)

// Not in the driver's types. A further statement that is handed to a connection between the error and the close of its socket
// would never be answered: found by killing backends under four callers on Bun, gone with this.
const ONE_AT_A_TIME = { max_pipeline: 0 }

/**
 * A pool of connections. The driver has no query time-out of its own, so the server is told to give up; times are UTC.
 * Errors of this driver carry `query` and `parameters`: log `describeFault(error)`, never the error itself.
 */
export const connectPostgres = (url: string, options: PostgresOptions): Sql =>
  postgres(url, {
    max: options.connections,
    connect_timeout: CONNECT_TIMEOUT_SECONDS,
    backoff: reconnectSeconds,
    onnotice: () => {},
    fetch_types: false,
    types: ARRAY_TYPES,
    ...ONE_AT_A_TIME,
    ...addressToVerify(url),
    prepare: options.pooler !== 'transaction',
    connection: {
      application_name: options.applicationName,
      TimeZone: 'UTC',
      ...(options.pooler !== 'transaction' && settingsOfSession(options)),
    },
  })

/** PgBouncer refuses a client that asks for these. */
const settingsOfSession = ({ statementTimeoutMs, schema }: PostgresOptions) => ({
  statement_timeout: statementTimeoutMs,
  lock_timeout: LOCK_TIMEOUT_MS,
  idle_in_transaction_session_timeout: statementTimeoutMs,
  // A plan that was made while a table was empty reads all of it when it has grown, until the next analyze: with 100,000 fences
  // of one purge a look-up took up to 1.6 s.
  enable_seqscan: 'off',
  ...(schema !== undefined && { search_path: schema }),
})

/**
 * The driver names no server to TLS where the URL has an address. On Deno the certificate would then have to be one for
 * `localhost`, whatever the address is.
 */
const addressToVerify = (text: string): { ssl?: { host: string } } => {
  const { hostname, searchParams } = new URL(text)
  const host = hostname.replaceAll(/[[\]]/g, '')
  return searchParams.get('sslmode')?.startsWith('verify-') && isIP(host) !== 0 ? { ssl: { host } } : {}
}
