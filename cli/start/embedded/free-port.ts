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
 * Returns the wanted port. Without one, returns the port of the last start if it is free, or any
 * free port, and stores it in `file`.
 *
 * @throws when the wanted port is taken
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

/** A port that this program holds for another program until `release`. */
export type ReservedPort = { readonly port: number; readonly release: () => Promise<void> }

/**
 * Holds a port, so that two simultaneous starts do not choose the same port before their servers
 * listen. Undefined if the port is taken. Tries to connect before it listens, since two listeners
 * can share a port if both allow it (SO_REUSEPORT).
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

export const isPortFree = async (port: number, host = LOOPBACK): Promise<boolean> => {
  const reserved = await reservePort(port, host)
  await reserved?.release()
  return reserved !== undefined
}

/**
 * The address at which this machine reaches a listener on `host`: the loopback address if `host`
 * stands for all addresses.
 */
export const reachable = (host: string): string => {
  if (host === '0.0.0.0') return LOOPBACK
  return host === '::' ? '::1' : host
}

const bind = (port: number, host: string): Promise<ReservedPort | undefined> =>
  new Promise((resolve, reject) => {
    // Closes each connection, since the port is released only when none is open.
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
