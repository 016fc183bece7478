import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'

const LOOPBACK = '127.0.0.1'
/** An address that drops packets never answers. */
const ANSWERS_WITHIN_MS = 2_000

export const findFreePort = async (): Promise<number> => {
  const any = await bind(0, LOOPBACK)
  if (any === undefined) throw new Error(`no port on ${LOOPBACK} is free: end a program that listens there`)
  await any.release()
  return any.port
}

/**
 * The wanted port, if given; else the port of the last start, which `file` keeps, if it is free;
 * else any free port.
 */
export const choosePort = async (file: string, wanted: number | undefined): Promise<number> => {
  if (wanted !== undefined) {
    if (await isPortFree(wanted)) return wanted
    throw new Error(`port ${wanted} is taken`)
  }
  const last = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
  const isPort = Number.isInteger(last) && last > 0 && last < 65_536
  const port = isPort && (await isPortFree(last)) ? last : await findFreePort()
  writeFileSync(file, `${port}\n`)
  return port
}

/** A port that this program holds until it releases the port for another program. */
export type ReservedPort = { readonly port: number; readonly release: () => Promise<void> }

/**
 * Holds a port, so that two simultaneous starts do not choose the same one before their servers
 * listen. Undefined if it is taken.
 */
export const reservePort = async (port: number, host: string): Promise<ReservedPort | undefined> => {
  if (await answers(port, reachable(host))) return undefined
  return bind(port, host)
}

/** Holds the first free port from `first` on. */
export const reserveNextPort = async (first: number, host: string): Promise<ReservedPort> => {
  const tries = 100
  for (let port = first; port < first + tries; port += 1) {
    const reserved = await reservePort(port, host)
    if (reserved !== undefined) return reserved
  }
  throw new Error(`the ports ${first} to ${first + tries - 1} on ${host} are all taken: set PORT to a free port`)
}

/**
 * Tries to connect and to listen, since two listeners can share a port if both allow it
 * (SO_REUSEPORT).
 */
export const isPortFree = async (port: number, host = LOOPBACK): Promise<boolean> => {
  const reserved = await reservePort(port, host)
  await reserved?.release()
  return reserved !== undefined
}

/**
 * The address at which this machine reaches a listener on `host`, which may stand for all
 * addresses.
 */
export const reachable = (host: string): string => {
  if (host === '0.0.0.0') return LOOPBACK
  return host === '::' ? '::1' : host
}

const bind = (port: number, host: string): Promise<ReservedPort | undefined> =>
  new Promise((resolve, reject) => {
    // Closes each connection at once, since an open one would keep the port from being released.
    const server = createServer((socket) => socket.destroy())
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined)
      else reject(error)
    })
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address()
      const bound = typeof address === 'object' && address !== null ? address.port : port
      resolve({ port: bound, release: () => close(server) })
    })
  })

/** Also resolves if the server is closed already. */
const close = (server: Server): Promise<void> => new Promise((resolve) => server.close(() => resolve()))

const answers = (port: number, host: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host })
    const finish = (listening: boolean) => {
      socket.destroy()
      resolve(listening)
    }
    socket.once('connect', () => finish(true))
    socket.once('error', () => finish(false))
    socket.setTimeout(ANSWERS_WITHIN_MS, () => finish(false))
  })
