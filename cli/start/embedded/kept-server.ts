import { setTimeout as pause } from 'node:timers/promises'
import { restartDelays } from './restart-delay.ts'
import type { EmbeddedServer } from './server.ts'

export type KeptServer = {
  readonly url: string
  readonly pid: () => number
  readonly stop: () => Promise<void>
}

/**
 * Starts a server, and starts it again on the same port whenever it ends by itself, until it is
 * stopped.
 */
export const keepServer = async (options: {
  readonly name: string
  readonly start: (port?: number) => Promise<EmbeddedServer>
  readonly say: (line: string) => void
}): Promise<KeptServer> => {
  const { name, start, say } = options
  const stopped = new AbortController()
  let server = await start()
  const { url, port } = server

  const keep = async (): Promise<void> => {
    const delays = restartDelays()
    while (!stopped.signal.aborted) {
      const startedAt = Date.now()
      await server.exited
      if (stopped.signal.aborted) return
      say(`${name} has ended unexpectedly and is started again`)
      await startAgain(delays, Date.now() - startedAt)
    }
  }

  const startAgain = async (delays: ReturnType<typeof restartDelays>, ranMs: number): Promise<void> => {
    for (let lastRanMs = ranMs; !stopped.signal.aborted; lastRanMs = 0) {
      await pause(delays.next(lastRanMs), undefined, { signal: stopped.signal }).catch(() => {})
      if (stopped.signal.aborted) return
      try {
        server = await start(port)
        return
      } catch (error) {
        say(`${name} cannot be started again: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
  }

  const kept = keep()

  return {
    url,
    pid: () => server.pid,
    stop: async () => {
      stopped.abort()
      await server.stop()
      await kept
      // `keep` may have started it again meanwhile.
      await server.stop()
    },
  }
}
