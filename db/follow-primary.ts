import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { withinTime } from '../process/within-time.ts'

const LOOK_EVERY_MS = 1_000
const LOOK_AGAIN_MS = 100
const ANSWER_WITHIN_MS = 1_000
/** A primary that was silent for so many looks, each of which waits a second, has connections that may never be answered. */
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
type Server = { host: string; port: number; timeline: () => Promise<number>; stop: () => Promise<void> }

/**
 * Looks every second which of the servers is the primary, and cuts the connections to every other one when there is a new one. Left
 * to itself, the driver takes hosts in turn: it asks a standby without a pause until it is promoted, and stays with a primary that
 * another one has replaced.
 *
 * The same when a primary answers again after seconds: where the network had parted, TCP would try the former connections up to a minute
 * later.
 *
 * Of several servers that take writes, the primary is the one with the highest timeline, which a promotion raises. A server of a
 * timeline below one that this process has seen is no primary any more, even if it alone is there.
 */
export const followPrimary = (urls: readonly string[], options: Options): Followed => {
  const servers = urls.map((url) => serverAt(url, options))
  let newest = 1
  let primary: Server | undefined
  let given: { server: Server; socket: Socket }[] = []
  let silentLooks = 0
  let isStopped = false
  const cut = (isCut: (server: Server) => boolean): void => {
    for (const { server, socket } of given) if (isCut(server) && !socket.connecting) socket.destroy()
  }
  const look = async (): Promise<void> => {
    const timelines = await Promise.all(servers.map((server) => server.timeline()))
    const highest = Math.max(...timelines)
    if (highest < newest) {
      silentLooks++
      return
    }
    newest = highest
    const found = servers[timelines.indexOf(highest)]!
    if (primary !== undefined && found !== primary) options.onPrimary?.(`${found.host}:${found.port}`)
    primary = found
    const wasSilent = silentLooks >= SILENT_LOOKS
    silentLooks = 0
    cut((server) => wasSilent || server !== primary)
  }
  const toUse = (): Server => primary ?? servers[0]!
  /** A busy primary may be silent at the first look, where a standby answers. */
  const lookForFirst = async (): Promise<void> => {
    await look()
    if (primary !== undefined || isStopped || silentLooks >= SILENT_LOOKS) return
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
  return {
    socket: async () => {
      await first
      const server = toUse()
      const socket = Object.assign(connect(server.port, server.host), { host: server.host })
      given = [...given.filter((one) => !one.socket.destroyed), { server, socket }]
      return socket
    },
    host: () => toUse().host,
    stop: async () => {
      isStopped = true
      await Promise.all(servers.map((server) => server.stop()))
    },
  }
}

const serverAt = (url: string, { open, isReader }: Options): Server => {
  const { hostname, port } = new URL(url)
  let sql: Sql | undefined
  const stop = async (): Promise<void> => {
    const opened = sql
    sql = undefined
    await opened?.end({ timeout: 0 })
  }
  return {
    host: hostname.replaceAll(/[[\]]/g, ''),
    port: Number(port || DEFAULT_PORT),
    timeline: async () => {
      sql ??= open(url)
      // Where a server hangs or is another one now, the connection to it may never be answered.
      return withinTime(timelineOf(sql, isReader), ANSWER_WITHIN_MS).catch(() => (void stop(), 0))
    },
    stop,
  }
}

/** The timeline on which a server takes writes; 0 when it takes none. The role of a reader may not write on any server. */
const timelineOf = async (sql: Sql, isReader: boolean): Promise<number> => {
  const [{ wal }] = await sql<[{ wal: string | null }]>`
    select case
      when not pg_is_in_recovery() and (${isReader} or not current_setting('transaction_read_only')::boolean)
      then pg_walfile_name(pg_current_wal_lsn())
    end as wal`
  return wal === null ? 0 : Number.parseInt(wal.slice(0, TIMELINE_DIGITS), 16)
}
