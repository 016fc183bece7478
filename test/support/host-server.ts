import { existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { EmbeddedServer } from '../../cli/start/embedded/server.ts'
import { type NetworkHost, programOn } from './network.ts'
import { startProcess } from './service-process.ts'

type Order = { readonly dataDir: string; readonly port?: number; readonly settings?: readonly string[] }

/** Starts a server on a host. Its URL is valid on the host itself. */
export const serveOn = async (host: NetworkHost, kind: 'redis' | 'postgres', order: Order): Promise<EmbeddedServer> => {
  const environment = { SERVE: JSON.stringify({ kind, ...order }) }
  const program = await startProcess(programOn('test/support/serve-on-host.ts', host), 'serving', environment)
  const [line] = program.output().match(/^\{"event":"serving".*\}$/m)!
  const { url, pid } = JSON.parse(line) as { url: string; pid: number }
  const untilGone = async (): Promise<string> => {
    while (existsSync(`/proc/${pid}`)) await pause(50)
    return 'gone'
  }
  return { url, port: program.port, pid, exited: untilGone(), stop: program.stop }
}
