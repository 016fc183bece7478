import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { withinTime } from '../../runtime/within-time.ts'

const CHECK_EVERY_MS = 1_000
const CHECK_AGAIN_MS = 100
const ANSWER_WITHIN_MS = 1_000
/** After this many checks that found no primary, former connections may never answer. */
const SILENT_CHECKS = 5
export const DEFAULT_PORT = 5_432
/** The digits of a timeline at the start of a WAL file name. */
const TIMELINE_DIGITS = 8

export type FollowedPrimary = {
  /** Connects to the known primary, or to the first server, for the driver's option `socket`. */
  socket: () => Promise<Socket>
  /** The host to which `socket` connects. */
  host: () => string
  stop: () => Promise<void>
}

type Options = {
  /** Opens a pool of one connection to one server. */
  open: (url: string) => Sql
  isReadOnly: boolean
  /** Called with the host and port of each further primary. */
  onPrimary: ((server: string) => void) | undefined
}
type FollowedServer = {
  host: string
  port: number
  timeline: () => Promise<number>
  connect: () => Socket
  /** Ends all established connections from `connect`. */
  cut: () => void
  stop: () => Promise<void>
}

/**
 * Finds the primary among the servers every second, and cuts the connections to every other server.
 * By itself, the driver tries the hosts in order. It asks a standby again and again until the
 * standby is promoted, and stays with a primary that was replaced.
 *
 * When a primary answers after `SILENT_CHECKS` or more checks without a primary, all connections
 * are cut. After a network partition, TCP could take a minute to resume the old connections.
 *
 * If several servers take writes, the primary is the one with the highest timeline, which each
 * promotion raises. A server is never the primary if an earlier check has seen a higher timeline.
 */
export const followPrimary = (urls: readonly string[], options: Options): FollowedPrimary => {
  const servers = urls.map((url) => serverAt(url, options))
  const election = createElection(servers, options)
  let isStopped = false
  const check = async (): Promise<void> => {
    const hasStaleConnections = await election.check()
    for (const server of servers) if (hasStaleConnections(server)) server.cut()
  }
  /**
   * Repeats the first check until a primary answers, since a busy primary may answer too late. Ends
   * after `SILENT_CHECKS` at the latest.
   */
  const findFirst = async (): Promise<void> => {
    await check()
    if (election.primary() !== undefined || isStopped || election.isSilent()) return
    await pause(CHECK_AGAIN_MS)
    await findFirst()
  }
  const first = findFirst()
  const checkRepeatedly = async (): Promise<void> => {
    await first
    for (;;) {
      await pause(CHECK_EVERY_MS, undefined, { ref: false })
      // A check after the end would open connections that stay open.
      if (isStopped) return
      await check()
    }
  }
  void checkRepeatedly()
  const serverToUse = (): FollowedServer => election.primary() ?? servers[0]!
  return {
    socket: async () => {
      await first
      return serverToUse().connect()
    },
    host: () => serverToUse().host,
    stop: async () => {
      isStopped = true
      await Promise.all(servers.map((server) => server.stop()))
    },
  }
}

/** Elects the primary in each check. If a check finds none, the former primary stays. */
const createElection = (servers: readonly FollowedServer[], { onPrimary }: Options) => {
  let newest = 1
  let primary: FollowedServer | undefined
  let silentChecks = 0
  const isSilent = (): boolean => silentChecks >= SILENT_CHECKS
  return {
    primary: (): FollowedServer | undefined => primary,
    isSilent,
    /**
     * The returned function says whether the connections of a server are stale: the server is not
     * the primary, or they may never answer.
     */
    check: async (): Promise<(server: FollowedServer) => boolean> => {
      const timelines = await Promise.all(servers.map((server) => server.timeline()))
      const highest = Math.max(...timelines)
      if (highest < newest) {
        silentChecks++
        return () => false
      }
      newest = highest
      const found = servers[timelines.indexOf(highest)]!
      if (primary !== undefined && found !== primary) onPrimary?.(`${found.host}:${found.port}`)
      primary = found
      const wasSilent = isSilent()
      silentChecks = 0
      return (server) => wasSilent || server !== found
    },
  }
}

const serverAt = (url: string, { open, isReadOnly }: Options): FollowedServer => {
  const { hostname, port: givenPort } = new URL(url)
  const host = hostname.replaceAll(/[[\]]/g, '')
  const port = Number(givenPort || DEFAULT_PORT)
  let sql: Sql | undefined
  let sockets: Socket[] = []
  const stop = async (): Promise<void> => {
    const opened = sql
    sql = undefined
    await opened?.end({ timeout: 0 })
  }
  return {
    host,
    port,
    timeline: async () => {
      sql ??= open(url)
      // If a server hangs or was replaced, the connection to it may never answer.
      return withinTime(timelineOf(sql, isReadOnly), ANSWER_WITHIN_MS).catch(() => (void stop(), 0))
    },
    connect: () => {
      const socket = Object.assign(connect(port, host), { host })
      sockets = [...sockets.filter(({ destroyed }) => !destroyed), socket]
      return socket
    },
    cut: () => {
      for (const socket of sockets) if (!socket.connecting) socket.destroy()
    },
    stop,
  }
}

/**
 * The timeline of a server that takes writes; 0 if it takes none. The sessions of a read-only pool
 * are read-only on every server, so `transaction_read_only` says nothing about the server.
 */
const timelineOf = async (sql: Sql, isReadOnly: boolean): Promise<number> => {
  const [{ wal }] = await sql<[{ wal: string | null }]>`
    select case
      when not pg_is_in_recovery() and (${isReadOnly} or not current_setting('transaction_read_only')::boolean)
      then pg_walfile_name(pg_current_wal_lsn())
    end as wal`
  return wal === null ? 0 : Number.parseInt(wal.slice(0, TIMELINE_DIGITS), 16)
}
