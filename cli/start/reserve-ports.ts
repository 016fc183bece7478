import { findFreePort, type ReservedPort, reserveNextPort, reservePort } from './embedded/free-port.ts'
import type { LauncherConfig } from './launcher-config.ts'
import type { Running } from './running.ts'

/** The API's port is held until the API is started, the worker's port is free now. */
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
  throw new Error(`PORT ${PORT} is taken on ${HOST}: stop what listens there, or set another`)
}

const chooseWorkerPort = async ({ WORKER_PORT }: LauncherConfig): Promise<number> => {
  if (WORKER_PORT === undefined) return findFreePort()
  if ((await findFreePort(WORKER_PORT)) === WORKER_PORT) return WORKER_PORT
  throw new Error(`WORKER_PORT ${WORKER_PORT} is taken: stop what listens there, or set another`)
}
