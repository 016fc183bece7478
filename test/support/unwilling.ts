import type { Buffer } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { serveHttp } from './http-server.ts'

/**
 * `cut`: closes without an answer. `lost`: passes the request on and loses the answer. A status:
 * answers with it and a Retry-After of a second.
 */
type Refusal = 'cut' | 'lost' | number

export type UnwillingService = {
  readonly url: string
  /** The `Idempotency-Key` and the body of each request. */
  readonly seen: readonly { readonly key: string | undefined; readonly body: string }[]
  /** Sets what happens to the next requests. */
  readonly refuse: (...refusals: readonly Refusal[]) => void
  readonly stop: () => void
}

/**
 * A proxy before a service. It refuses some requests, loses some answers, and passes on the rest.
 * It shortens the time to retry in answers of the service to a second.
 */
export const unwilling = async (serviceUrl: string): Promise<UnwillingService> => {
  const seen: { key: string | undefined; body: string }[] = []
  const refusals: Refusal[] = []
  const { url, stop } = await serveHttp(async (request, response, body) => {
    seen.push({ key: request.headers['idempotency-key'] as string | undefined, body: String(body) })
    const refusal = refusals.shift()
    if (refusal === 'cut') return void request.socket.destroy()
    if (typeof refusal === 'number')
      return void response.writeHead(refusal, { 'Retry-After': '1' }).end('{"error":"later"}')
    const { status, headers, text } = await passOn(serviceUrl, request, body)
    if (refusal === 'lost') request.socket.destroy()
    else response.writeHead(status, headers).end(text)
  })
  return { url, seen, refuse: (...given) => void refusals.push(...given), stop }
}

const PASSED_ON = ['authorization', 'content-type', 'idempotency-key', 'prefer']

const passOn = async (
  serviceUrl: string,
  { url, method = 'GET', headers }: IncomingMessage,
  body: Buffer,
): Promise<{ status: number; headers: Record<string, string>; text: string }> => {
  const given = PASSED_ON.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]]))
  const response = await fetch(`${serviceUrl}${url}`, {
    method,
    headers: Object.fromEntries(given) as Record<string, string>,
    ...(method !== 'GET' && { body: new Uint8Array(body) }),
  })
  const answered = Object.fromEntries(response.headers)
  for (const name of ['content-length', 'transfer-encoding', 'connection']) delete answered[name]
  return {
    status: response.status,
    headers: { ...answered, ...(answered['retry-after'] !== undefined && { 'retry-after': '1' }) },
    text: (await response.text()).replaceAll(/"retryAfter":\d+/g, '"retryAfter":1'),
  }
}
