import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { withinTime } from '../../runtime/within-time.ts'

const LOOK_EVERY_MS = 1_000
const LOOK_AGAIN_MS = 100
const ANSWER_WITHIN_MS = 1_000
/**
 * A primary that was silent for so many looks, each of which waits a second, has connections that
 * may never be answered.
 */
const SILENT_LOOKS = 5
const DEFAULT_PORT = 5_432
/** With which the name of a file of the write-ahead log begins. */
const TIMELINE_DIGITS = 8

export type Followed = {
  /** A connection to the primary that is known, for the driver's option `socket`. */
  socket: () => Promise<Socket>
  /** The host of the primary that is known. */
  host: () => string
  stop: () => Promise<void>
}

type Options = {
  /** Opens a pool of one connection to one server. */
  open: (url: string) => Sql
  isReader: boolean
  /** Gets the host and port of each further primary. */
  onPrimary: ((server: string) => void) | undefined
}
type Server = {
  host: string
  port: number
  timeline: () => Promise<number>
  connect: () => Socket
  /** Ends the connections that were given out. */
  cut: () => void
  stop: () => Promise<void>
}

/**
 * Looks every second which of the servers is the primary, and cuts the connections to every other
 * one when there is a new one. Left to itself, the driver takes hosts in turn: it asks a standby
 * without a pause until it is promoted, and stays with a primary that another one has replaced.
 *
 * The same when a primary answers again after seconds: where the network had parted, TCP would try
 * the former connections up to a minute later.
 *
 * Of several servers that take writes, the primary is the one with the highest timeline, which a
 * promotion raises. A server of a timeline below one that this process has seen is no primary any
 * more, even if it alone is there.
 */
export const followPrimary = (urls: readonly string[], options: Options): Followed => {
  const servers = urls.map((url) => serverAt(url, options))
  const election = electionAmong(servers, options)
  let isStopped = false
  const look = async (): Promise<void> => {
    const isLost = await election.look()
    for (const server of servers) if (isLost(server)) server.cut()
  }
  /** A busy primary may be silent at the first look, where a standby answers. */
  const lookForFirst = async (): Promise<void> => {
    await look()
    if (election.primary() !== undefined || isStopped || election.isSilent()) return
    await pause(LOOK_AGAIN_MS)
    await lookForFirst()
  }
  const first = lookForFirst()
  const goOnLooking = async (): Promise<void> => {
    await first
    for (;;) {
      await pause(LOOK_EVERY_MS, undefined, { ref: false })
      // A look after the end would open connections that nobody closes.
      if (isStopped) return
      await look()
    }
  }
  void goOnLooking()
  const toUse = (): Server => election.primary() ?? servers[0]!
  return {
    socket: async () => {
      await first
      return toUse().connect()
    },
    host: () => toUse().host,
    stop: async () => {
      isStopped = true
      await Promise.all(servers.map((server) => server.stop()))
    },
  }
}

/** Which of the servers is the primary, as of the last look. */
const electionAmong = (servers: readonly Server[], { onPrimary }: Options) => {
  let newest = 1
  let primary: Server | undefined
  let silentLooks = 0
  const isSilent = (): boolean => silentLooks >= SILENT_LOOKS
  return {
    primary: (): Server | undefined => primary,
    isSilent,
    /** Returns which servers have connections that lead to no primary, or may never be answered. */
    look: async (): Promise<(server: Server) => boolean> => {
      const timelines = await Promise.all(servers.map((server) => server.timeline()))
      const highest = Math.max(...timelines)
      if (highest < newest) {
        silentLooks++
        return () => false
      }
      newest = highest
      const found = servers[timelines.indexOf(highest)]!
      if (primary !== undefined && found !== primary) onPrimary?.(`${found.host}:${found.port}`)
      primary = found
      const wasSilent = isSilent()
      silentLooks = 0
      return (server) => wasSilent || server !== found
    },
  }
}

const serverAt = (url: string, { open, isReader }: Options): Server => {
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
      // Where a server hangs or is another one now, the connection to it may never be answered.
      return withinTime(timelineOf(sql, isReader), ANSWER_WITHIN_MS).catch(() => (void stop(), 0))
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
 * The timeline on which a server takes writes; 0 when it takes none. The role of a reader may not
 * write on any server.
 */
const timelineOf = async (sql: Sql, isReader: boolean): Promise<number> => {
  const [{ wal }] = await sql<[{ wal: string | null }]>`
    select case
      when not pg_is_in_recovery() and (${isReader} or not current_setting('transaction_read_only')::boolean)
      then pg_walfile_name(pg_current_wal_lsn())
    end as wal`
  return wal === null ? 0 : Number.parseInt(wal.slice(0, TIMELINE_DIGITS), 16)
}
