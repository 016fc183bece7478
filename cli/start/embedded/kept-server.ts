import { setTimeout as pause } from 'node:timers/promises'
import { restartDelays } from './restart-delay.ts'
import type { EmbeddedServer } from './server.ts'

export type KeptServer = {
  readonly url: string
  readonly pid: () => number
  readonly stop: () => Promise<void>
}

type Options = {
  readonly name: string
  readonly start: (port?: number) => Promise<EmbeddedServer>
  readonly say: (line: string) => void
}

/**
 * Starts a server. If the server ends by itself, starts it again on the same port, until it is
 * stopped.
 */
export const keepServer = async (options: Options): Promise<KeptServer> => {
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
      const ranMs = Date.now() - startedAt
      server = (await startAgain(options, port, { delays, ranMs, signal: stopped.signal })) ?? server
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
      // `keep` may have started the server again meanwhile.
      await server.stop()
    },
  }
}

type Attempts = { delays: ReturnType<typeof restartDelays>; ranMs: number; signal: AbortSignal }

/** Tries until the server runs. Undefined if the signal aborts first. */
const startAgain = async (
  { name, start, say }: Options,
  port: number,
  { delays, ranMs, signal }: Attempts,
): Promise<EmbeddedServer | undefined> => {
  for (let lastRanMs = ranMs; ; lastRanMs = 0) {
    await pause(delays.next(lastRanMs), undefined, { signal }).catch(() => {})
    if (signal.aborted) return undefined
    try {
      return await start(port)
    } catch (error) {
      say(`${name} cannot be started again: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
}
