import { Buffer } from 'node:buffer'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type HttpServer = { readonly url: string; readonly stop: () => void }
type Handle = (request: IncomingMessage, response: ServerResponse, body: Buffer) => unknown

/** Serves HTTP on this machine. Calls `handle` after the whole body of a request has arrived. */
export const serveHttp = async (handle: Handle): Promise<HttpServer> => {
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => void handle(request, response, Buffer.concat(pieces)))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
