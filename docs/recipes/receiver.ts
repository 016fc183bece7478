import { Buffer } from 'node:buffer'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import process from 'node:process'
import { type Client, createClient, RequestError } from 'feedback-insights-client'

/** A webhook as it arrived: its headers by name in lower case, and the bytes that were signed. */
export type Delivery = { readonly headers: Readonly<Record<string, string>>; readonly bytes: Buffer }

export type Receiver<Payload> = {
  readonly isGenuine: (delivery: Delivery, secret: string) => boolean
  /** Submits what the payload says. The same delivery again has to give the same keys. */
  readonly submit: (client: Client, payload: Payload, delivery: Delivery) => Promise<unknown>
}

const MOST_BYTES = 5 * 1024 * 1024
/** Vendors wait as little as 5 s, and deliver again what got no 200. */
const PATIENCE_MS = 3_000
const AGAIN = { status: 503, text: 'again, please', headers: { 'Retry-After': '30' } }

/** Listens at PORT. Reads FEEDBACK_URL, ACCESS_TOKEN and WEBHOOK_SECRET. */
export const receive = <Payload>(receiver: Receiver<Payload>): void => {
  const { FEEDBACK_URL: url = '', ACCESS_TOKEN: token = '', WEBHOOK_SECRET: secret = '', PORT = '8080' } = process.env
  if (!url || !token || !secret) throw new Error('Set FEEDBACK_URL, ACCESS_TOKEN and WEBHOOK_SECRET')
  const client = createClient({ url, token, strict: true, patienceMs: PATIENCE_MS })

  const answer = async (request: IncomingMessage): Promise<Answer> => {
    if (request.method !== 'POST') return { status: 405, text: 'POST only' }
    const bytes = await bytesOf(request)
    if (bytes === undefined) return { status: 413, text: 'too large' }
    const delivery = { headers: request.headers as Record<string, string>, bytes }
    if (!receiver.isGenuine(delivery, secret)) return { status: 401, text: 'not signed by whom it should be' }
    const payload = jsonOf(bytes)
    if (payload === undefined) return { status: 400, text: 'not JSON' }
    try {
      await receiver.submit(client, payload as Payload, delivery)
      return { status: 200, text: 'ok' }
    } catch (error) {
      // Neither the payload nor what was wrong with it at which value: it may be personal.
      console.error(error instanceof RequestError ? error.message : error)
      const isFinal = error instanceof RequestError && [400, 413, 422].includes(error.status ?? 0)
      return isFinal ? { status: 422, text: error.message } : AGAIN
    }
  }
  const server = createServer((request, response) => {
    void answer(request)
      .catch(() => AGAIN)
      .then(({ status, text, headers = {} }) => response.writeHead(status, headers).end(text))
  })
  server.listen(Number(PORT), () => console.log(`listening on port ${(server.address() as AddressInfo).port}`))
}

type Answer = { readonly status: number; readonly text: string; readonly headers?: Record<string, string> }

const bytesOf = async (request: IncomingMessage): Promise<Buffer | undefined> => {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > MOST_BYTES) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const jsonOf = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(bytes.toString()) ?? undefined
  } catch {
    return undefined
  }
}

export type Signature = {
  readonly algorithm: 'sha1' | 'sha256'
  readonly secret: string
  readonly encoding: 'hex' | 'base64'
}

/** The HMAC of what was signed. */
export const signatureOf = (
  { algorithm, secret, encoding }: Signature,
  ...signed: readonly (string | Buffer)[]
): string => {
  const hmac = createHmac(algorithm, secret)
  for (const part of signed) hmac.update(part)
  return hmac.digest(encoding)
}

/** In a time that tells nothing of where they differ. */
export const isSame = (given: string | undefined, expected: string): boolean => {
  const [one, other] = [Buffer.from(given ?? ''), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/** A time as the service takes it, of a text or of seconds since 1970; undefined when it is none. */
export const timeOf = (time: string | number | null | undefined): string | undefined => {
  const date = new Date(typeof time === 'number' ? time * 1_000 : (time ?? Number.NaN))
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}
