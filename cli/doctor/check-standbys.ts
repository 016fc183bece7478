import { connectPostgres, type Sql } from '../../db/connection/postgres.ts'
import { describeFault } from '../../runtime/fault.ts'
import { readPostgresUrl } from '../../runtime/postgres-address.ts'
import type { Settings } from '../../runtime/settings.ts'
import { when } from '../../health/finding.ts'
import { type Checked, warning, well, wrong } from './finding.ts'

const BYTES_PER_MIB = 1024 * 1024
const MOST_BEHIND = { bytes: 256 * BYTES_PER_MIB, seconds: 30 }
const STATEMENT_TIMEOUT_MS = 3_000

type Pooler = Settings<'DATABASE_POOLER'>['DATABASE_POOLER']
type CheckedServer = {
  place: string
  isStandby: boolean
  startedAt: number
  behindBytes: number
  behindSeconds: number
}

/**
 * Findings about all servers that DATABASE_URL and READS_DATABASE_URL name; none if they name only
 * one. `sql` is connected to the primary.
 */
export const checkStandbys = async (
  sql: Sql,
  { addresses, pooler }: { addresses: readonly string[]; pooler: Pooler },
): Promise<Checked[]> => {
  const urlsByHost = new Map(addresses.flatMap(urlsIn).map((url) => [new URL(url).host, url]))
  const urls = [...urlsByHost.values()]
  if (urls.length === 1) return []
  const [{ written }] = await sql<[{ written: string }]>`select pg_current_wal_lsn()::text as written`
  const asked = await Promise.all(urls.map((url) => askServer(url, written, pooler)))
  const servers = asked.filter((server) => 'place' in server)
  // Two addresses can lead to the same server, which has one time of its start.
  const primariesByStart = new Map(
    servers.filter(({ isStandby }) => !isStandby).map((server) => [server.startedAt, server]),
  )
  const primaries = [...primariesByStart.values()]
  return [
    ...asked.filter((server) => 'level' in server),
    ...when(
      primaries.length > 1,
      wrong(
        `${primaries.map(({ place }) => place).join(' and ')} all accept writes: they are independent primaries.`,
        'Stop the former primary, and make it a standby (pg_rewind, or a new base backup).',
      ),
    ),
    ...servers.filter(({ isStandby }) => isStandby).map(judgeStandby),
  ]
}

const urlsIn = (address: string): readonly string[] => {
  const read = readPostgresUrl(address)
  return typeof read === 'string' ? [] : read.urls
}

/**
 * Compares a server with `written`, an earlier position of the primary. So a standby that keeps up
 * does not seem behind.
 */
const askServer = async (url: string, written: string, pooler: Pooler): Promise<CheckedServer | Checked> => {
  const { host: place } = new URL(url)
  const sql = connectPostgres(url, {
    connections: 1,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    applicationName: 'feedback-insights-doctor',
    isReadOnly: true,
    pooler,
  })
  try {
    const [row] = await sql<[Omit<CheckedServer, 'place'>]>`
      select pg_is_in_recovery() as "isStandby",
        extract(epoch from pg_postmaster_start_time())::float8 as "startedAt",
        greatest(0, pg_wal_lsn_diff(${written}, pg_last_wal_replay_lsn()))::float8 as "behindBytes",
        coalesce(extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()), 0)::float8 as "behindSeconds"`
    return { place, ...row }
  } catch (error) {
    return warning(
      `Postgres at ${place} cannot be reached (${describeFault(error)}).`,
      'Start it, or remove it from DATABASE_URL or READS_DATABASE_URL.',
    )
  } finally {
    await sql.end({ timeout: 1 })
  }
}

const judgeStandby = ({ place, behindBytes, behindSeconds }: CheckedServer): Checked => {
  if (behindBytes === 0) return well(`The standby of Postgres at ${place} has all that the primary had written.`)
  const text =
    `The standby of Postgres at ${place} is ${(behindBytes / BYTES_PER_MIB).toFixed(1)} MiB behind; ` +
    `its last transaction is ${Math.round(behindSeconds)} s old.`
  return behindBytes > MOST_BEHIND.bytes || behindSeconds > MOST_BEHIND.seconds
    ? warning(
        text,
        'Check its log, its disk and the network: readers miss these writes, and a failover to it would lose them.',
      )
    : well(text)
}
