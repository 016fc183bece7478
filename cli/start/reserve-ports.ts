import { findFreePort, isPortFree, type ReservedPort, reserveNextPort, reservePort } from './embedded/free-port.ts'
import type { LauncherConfig } from './launcher-config.ts'
import type { Running } from './running.ts'

/** The port of the API is held until the API starts; the worker's port is free at this moment. */
export type Ports = { readonly api: ReservedPort; readonly worker: number }

const FIRST_PORT = 3000

/**
 * The ports of the configuration, else free ones.
 *
 * @throws when a port of the configuration is taken
 */
export const reservePorts = async (config: LauncherConfig, running: Running): Promise<Ports> => {
  const api = await reserveApiPort(config)
  running.add(api.release)
  return { api, worker: await chooseWorkerPort(config) }
}

const reserveApiPort = async ({ PORT, HOST }: LauncherConfig): Promise<ReservedPort> => {
  if (PORT === undefined) return reserveNextPort(FIRST_PORT, HOST)
  const reserved = await reservePort(PORT, HOST)
  if (reserved !== undefined) return reserved
  throw new Error(`PORT ${PORT} is taken on ${HOST}: stop the program that listens there, or set another port`)
}

const chooseWorkerPort = async ({ WORKER_PORT, WORKER_HOST }: LauncherConfig): Promise<number> => {
  if (WORKER_PORT === undefined) return findFreePort()
  if (await isPortFree(WORKER_PORT, WORKER_HOST)) return WORKER_PORT
  throw new Error(`WORKER_PORT ${WORKER_PORT} is taken: stop the program that listens there, or set another port`)
}
