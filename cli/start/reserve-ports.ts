import { findFreePort, isPortFree, type ReservedPort, reserveNextPort, reservePort } from './embedded/free-port.ts'
import { whyNotListening } from '../../runtime/connect-process.ts'
import type { LauncherConfig } from './launcher-config.ts'
import type { Running } from './running.ts'

/**
 * The port of the API is held until the API starts. The port of the worker is free, but not held.
 */
export type Ports = { readonly api: ReservedPort; readonly worker: number }

const FIRST_PORT = 3000

/**
 * The ports of the configuration, else free ones.
 *
 * @throws when a port of the configuration is taken, or no program can listen there
 */
export const reservePorts = async (config: LauncherConfig, running: Running): Promise<Ports> => {
  const api = await reserveApiPort(config)
  running.add(api.release)
  return { api, worker: await chooseWorkerPort(config) }
}

const reserveApiPort = async ({ PORT, HOST }: LauncherConfig): Promise<ReservedPort> => {
  const port = PORT ?? FIRST_PORT
  const reserving = PORT === undefined ? reserveNextPort(port, HOST) : reservePort(port, HOST)
  return (await nameSettingsOnFailure(reserving, { host: HOST, port, prefix: '' })) ?? refuseTaken('PORT', port, HOST)
}

const chooseWorkerPort = async ({ WORKER_PORT, WORKER_HOST }: LauncherConfig): Promise<number> => {
  if (WORKER_PORT === undefined) return findFreePort()
  const place = { host: WORKER_HOST, port: WORKER_PORT, prefix: 'WORKER_' } as const
  return (await nameSettingsOnFailure(isPortFree(WORKER_PORT, WORKER_HOST), place))
    ? WORKER_PORT
    : refuseTaken('WORKER_PORT', WORKER_PORT, WORKER_HOST)
}

const refuseTaken = (setting: string, port: number, host: string): never => {
  throw new Error(`${setting} ${port} is taken on ${host}: stop the program that listens there, or set another port`)
}

/** Rejects with the settings to change if the system allows no listener at `place`. */
const nameSettingsOnFailure = <T>(reserving: Promise<T>, place: Parameters<typeof whyNotListening>[1]): Promise<T> =>
  reserving.catch((error: unknown) => {
    throw 'code' in (error as Error) ? new Error(whyNotListening(error, place), { cause: error }) : error
  })
