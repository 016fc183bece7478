import { spawnSync } from 'node:child_process'
import assert from 'node:assert/strict'
import { appendFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { startPostgres } from '../../cli/start/embedded/postgres-server.ts'
import type { EmbeddedServer } from '../../cli/start/embedded/server.ts'
import { connectPostgres, type Sql } from '../../db/connection/postgres.ts'
import { findLastingPort } from './lasting-port.ts'
import { superuserUrl } from './superuser.ts'
import { until } from './until.ts'
import { startParts } from './temporary-directory.ts'

export type PostgresPair = {
  /** The address of both servers, in the form of DATABASE_URL. */
  readonly url: string
  /** The address of only the standby. */
  readonly standbyUrl: string
  /** Connections of superusers, one to each server. They reconnect after a fault. */
  readonly atFormer: Sql
  readonly atStandby: Sql
  /** The directories of the servers. */
  readonly clusters: { readonly former: string; readonly standby: string }
  /** Cuts off the standby, like a partition. A synchronous primary then waits at each commit. */
  readonly cutOffStandby: () => Promise<void>
  /** The first primary. */
  readonly primary: EmbeddedServer
  /** Kills the primary, and waits for its end. */
  readonly killPrimary: () => Promise<void>
  /** Waits until the standby has replayed what the primary has written. */
  readonly untilStandbyFollows: () => Promise<void>
  /** Makes the standby a primary. */
  readonly promote: () => Promise<void>
  /** Starts the former primary again, still as a primary. */
  readonly bringBack: () => Promise<EmbeddedServer>
  readonly stop: () => Promise<void>
}

/** Where a server runs: its address for other hosts, and how to start it there. */
type PostgresPlace = {
  readonly address: string
  readonly start: (options: { dataDir: string; port?: number; settings: readonly string[] }) => Promise<EmbeddedServer>
}

const HERE: PostgresPlace = { address: '127.0.0.1', start: startPostgres }
const STATEMENT_TIMEOUT_MS = 20_000
/** With this slot, the primary keeps the WAL that the standby lacks, also across restarts. */
const SLOT = 'standby'
const NOWHERE = 'host=127.0.0.1 port=1'

/**
 * Starts a primary and a streaming standby. The standby begins as a copy of the stopped cluster,
 * since the npm package has no pg_basebackup.
 */
export const startPostgresPair = ({
  isSynchronous,
  places = [HERE, HERE],
}: {
  isSynchronous: boolean
  places?: readonly [primary: PostgresPlace, standby: PostgresPlace]
}): Promise<PostgresPair> =>
  startParts('pair', async (running, directory) => {
    const [former, standby] = [join(directory, 'former'), join(directory, 'standby')]
    const [atFirst, atSecond] = places
    const start = async (place: PostgresPlace, dataDir: string, port?: number): Promise<EmbeddedServer> => {
      const settings = [`listen_addresses=${place.address}`]
      const server = await place.start({ dataDir, settings, ...(port !== undefined && { port }) })
      running.defer(server.stop)
      return server
    }
    const asSuperuser = (dataDir: string, url: string): Sql => {
      const options = { connections: 1, statementTimeoutMs: STATEMENT_TIMEOUT_MS, applicationName: 'test' }
      const sql = connectPostgres(superuserUrl(dataDir, url), options)
      running.defer(() => sql.end({ timeout: 1 }))
      return sql
    }
    const first = await startPostgres({ dataDir: former, port: await findLastingPort() })
    await first.stop()
    appendFileSync(join(former, 'cluster', 'pg_hba.conf'), 'host all,replication all 0.0.0.0/0 scram-sha-256\n')
    assert.equal(spawnSync('cp', ['-a', former, standby]).status, 0)
    for (const file of ['port', 'pid']) rmSync(join(standby, file), { force: true })
    const primary = await start(atFirst, former, first.port)
    const firstUrl = first.url.replace('127.0.0.1', atFirst.address)
    const { username, password } = new URL(superuserUrl(former, firstUrl))
    const source = `host=${atFirst.address} port=${first.port} user=${username} password=${password}`
    writeFileSync(join(standby, 'cluster', 'standby.signal'), '')
    const settings = `primary_conninfo = '${source}'\nprimary_slot_name = '${SLOT}'\n`
    appendFileSync(join(standby, 'cluster', 'postgresql.auto.conf'), settings)
    const atFormer = asSuperuser(former, firstUrl)
    await atFormer`select pg_create_physical_replication_slot(${SLOT}, true)`
    const second = await start(atSecond, standby)
    const secondUrl = second.url.replace('127.0.0.1', atSecond.address)
    const atStandby = asSuperuser(standby, secondUrl)
    const reload = async (sql: Sql, name: string, value: string): Promise<void> => {
      await sql.unsafe(`alter system set ${name} = '${value}'`)
      await sql`select pg_reload_conf()`
    }
    if (isSynchronous) await reload(atFormer, 'synchronous_standby_names', '*')
    await until('the standby streams', async () => {
      const [row] = await atFormer<[{ states: string[] }]>`
        select coalesce(array_agg(sync_state), '{}') as states from pg_stat_replication where state = 'streaming'`
      return row.states.includes(isSynchronous ? 'sync' : 'async')
    })
    return {
      url: `${secondUrl.replace(/(:\d+)\//, `$1,${new URL(firstUrl).host}/`)}?target_session_attrs=read-write`,
      standbyUrl: secondUrl,
      atFormer,
      atStandby,
      clusters: { former: join(former, 'cluster'), standby: join(standby, 'cluster') },
      cutOffStandby: () => reload(atStandby, 'primary_conninfo', NOWHERE),
      primary,
      killPrimary: async () => {
        process.kill(primary.pid, 'SIGKILL')
        await primary.exited
      },
      untilStandbyFollows: async () => {
        await until('the standby has what the primary has written', async () => {
          const [{ written }] = await atFormer<[{ written: string }]>`select pg_current_wal_lsn() as written`
          const [{ follows }] = await atStandby<[{ follows: boolean }]>`
              select pg_last_wal_replay_lsn() >= ${written}::pg_lsn as follows`
          return follows
        })
      },
      promote: async () => void (await atStandby`select pg_promote()`),
      bringBack: () => start(atFirst, former, first.port),
    }
  })
