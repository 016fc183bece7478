import process from 'node:process'

export type Handler = (request: Request) => Promise<Response>
type Listening = { port: number; stop(): Promise<void> }

/**
 * Bun closes a connection on which no whole head of a request arrives for this long. Deno's server
 * has no such bound.
 */
const HEAD_SECONDS = 10
/**
 * Bounds a request after its head, on Bun; Deno's server has no such bound. The body
 * (`receiveBody`) and an answer that waits (`Prefer: wait`) have their own, lower bounds.
 */
const REQUEST_SECONDS = 70

const globals = globalThis as { Bun?: BunGlobal; Deno?: DenoGlobal }

type BunServer = {
  port: number
  stop(closeActive?: boolean): Promise<void>
  timeout(request: Request, seconds: number): void
}
type BunGlobal = {
  serve(options: {
    port: number
    hostname: string
    fetch(request: Request, server: BunServer): Promise<Response>
    idleTimeout: number
    maxRequestBodySize: number
    reusePort: boolean
    error(error: unknown): Response
  }): BunServer
}
type DenoServer = { addr: { port: number }; shutdown(): Promise<void> }
type DenoGlobal = {
  serve(
    options: { port: number; hostname: string; onListen(): void; onError(error: unknown): Response },
    handler: Handler,
  ): DenoServer
}

/**
 * Listens on Bun or on Deno; no other file of this room asks for the runtime. Each runtime uses its
 * own server. node:http would read trailers and let us answer a broken head, on both runtimes. But
 * node:http takes far more processor time for a small request.
 *
 * `stop` takes no new connections and resolves when the requests in flight are answered.
 *
 * @throws when it cannot listen. `reusePort: false` keeps Bun from sharing a port that is taken.
 */
export const serve = ({ port, hostname, fetch }: { port: number; hostname: string; fetch: Handler }): Listening => {
  const failed = () => Response.json({ error: 'Something went wrong on our side.' }, { status: 500 })
  if (globals.Bun) {
    const server = globals.Bun.serve({
      port,
      hostname,
      fetch: (request, self) => {
        self.timeout(request, REQUEST_SECONDS)
        return fetch(request)
      },
      idleTimeout: HEAD_SECONDS,
      // `receiveBody` bounds the size and explains the refusal; the runtime's own 413 has no body.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      reusePort: false,
      error: failed,
    })
    return { port: server.port, stop: () => server.stop() }
  }
  if (globals.Deno) {
    const server = globals.Deno.serve({ port, hostname, onListen: () => {}, onError: failed }, fetch)
    return { port: server.addr.port, stop: () => server.shutdown() }
  }
  throw new Error(`The API runs on Bun or Deno, not on ${process.title}.`)
}

/**
 * Whether the runtime can still answer a request whose body has arrived. Bun hands over the body
 * before it reads the rest of the packet. If bytes follow the body, such as a trailer, Bun itself
 * answers 400 or closes the connection. So the client would never learn of an acceptance. By the
 * next tick of the event loop, Bun has read the packet and aborted the request. This check does not
 * see bytes in a later packet. Deno reads trailers and lets the next request wait.
 */
export const canStillAnswer = async (request: Request): Promise<boolean> => {
  if (!globals.Bun) return true
  await new Promise((resolve) => setImmediate(resolve))
  return !request.signal.aborted
}

/** Whether this runtime reads trailer fields. Bun answers them with a 400 that does not say why. */
export const READS_TRAILERS = !globals.Bun
