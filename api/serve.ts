import process from 'node:process'

export type Handler = (request: Request) => Promise<Response>
export type Listening = { port: number; stop(): Promise<void> }

/**
 * Bun closes a connection on which no whole head of a request arrives for this long. Deno's server
 * has no such bound; node:http has one on Deno as well, but answered 14,000 requests a second
 * there, and Deno's server 39,000.
 */
const HEAD_SECONDS = 10
/**
 * Bounds the rest of a request. The body (`readBody`) and an answer that waits (`Prefer: wait`)
 * have bounds of their own, below this.
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
 * Listens on Bun or on Deno; no other file knows which runtime it is on. Each by the server of its
 * own: node:http reads trailers, lets the next request wait and answers a broken head in words of
 * ours on Bun, too, but took 80 µs of processor time for a small request there, and Bun's server 25
 * (on Deno 105 and 45).
 *
 * `stop` takes no new connections and resolves when the requests in flight are answered.
 *
 * @throws when the address is taken. Bun would share the port without `reusePort: false`.
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
      // `readBody` judges the size, with an answer that says so; the runtime's own 413 has no body.
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
  throw new Error(`This runs on Bun and Deno, not on ${process.title}.`)
}

/**
 * Whether a request whose body has arrived may be admitted. Bun hands a body over before it looks
 * at what follows: at a trailer, or at anything in the same packet behind the body, it answers 400
 * by itself or closes, and the client cannot be told of an acceptance. By the next turn of the
 * event loop it has read all of that packet and aborted the request. What follows in a later
 * packet, while the request is being admitted, comes too late for this. Deno reads trailers and
 * lets the next request wait; its signal must not be touched, since it aborts on success as well.
 */
export const isWhole = async (request: Request): Promise<boolean> => {
  if (!globals.Bun) return true
  await new Promise((resolve) => setImmediate(resolve))
  return !request.signal.aborted
}

/**
 * What this runtime cannot read, of what a head announces: at a trailer field Bun answers 400 by
 * itself, without a word why.
 */
export const READS_TRAILERS = !globals.Bun
