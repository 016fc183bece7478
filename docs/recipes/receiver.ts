import { Buffer } from 'node:buffer'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import process from 'node:process'
import { type Client, createClient, RequestError } from 'feedback-insights-client'

/** A webhook as it arrived: its headers by name in lower case, and the bytes that were signed. */
type Delivery = { readonly headers: Readonly<Record<string, string>>; readonly bytes: Buffer }

type Receiver<Payload> = {
  readonly isGenuine: (delivery: Delivery, secret: string) => boolean
  /** Submits the payload. The same delivery has to give the same idempotency keys each time. */
  readonly submit: (client: Client, payload: Payload, delivery: Delivery) => Promise<unknown>
  /** Whether `submit` submits conversations, which have a low rate limit. */
  readonly sendsConversations?: boolean
}

const MOST_BYTES = 5 * 1024 * 1024
/**
 * The most bytes of all deliveries that are arriving. A signature is checked after the body has
 * arrived, so strangers can send bodies, too.
 */
const MOST_BYTES_IN_HAND = 32 * 1024 * 1024
const BODY_MS = 10_000
/** Some vendors wait for 5 s only. Most repeat a delivery without a 200. */
const PATIENCE_MS = 3_000
/** A stranger may have copied a delivery with an older signature. */
const SIGNED_WITHIN_MS = 5 * 60 * 1_000
const AGAIN = { status: 503, text: 'again, please', headers: { 'Retry-After': '30' } }

/**
 * Listens at PORT. Reads FEEDBACK_URL, ACCESS_TOKEN, WEBHOOK_SECRET, and during a rotation of the
 * secret WEBHOOK_SECRET_BEFORE.
 */
export const receive = <Payload>(receiver: Receiver<Payload>): void => {
  const { FEEDBACK_URL: url = '', ACCESS_TOKEN: token = '', PORT = '8080' } = process.env
  const { WEBHOOK_SECRET: secret = '', WEBHOOK_SECRET_BEFORE: secretBefore = '' } = process.env
  if (!url || !token || !secret) throw new Error('Set FEEDBACK_URL, ACCESS_TOKEN and WEBHOOK_SECRET')
  const secrets = [secret, secretBefore].filter((each) => each !== '')
  // Not strict: a vendor's own names, such as `Email`, may look like misspelt ones.
  const client = createClient({ url, token, patienceMs: PATIENCE_MS })

  const answer = async (request: IncomingMessage): Promise<Answer> => {
    // Some vendors check the address with HEAD.
    if (request.method === 'HEAD') return { status: 200, text: '' }
    if (request.method !== 'POST') return { status: 405, text: 'POST only', headers: { Allow: 'POST, HEAD' } }
    const bytes = await bytesOf(request)
    if ('status' in bytes) return bytes
    const delivery = { headers: request.headers as Record<string, string>, bytes }
    if (!secrets.some((each) => receiver.isGenuine(delivery, each)))
      return { status: 401, text: 'not signed with the secret, or too long ago' }
    const payload = jsonOf(bytes)
    if (payload === undefined) return { status: 400, text: 'not JSON in UTF-8' }
    try {
      await receiver.submit(client, payload as Payload, delivery)
      return { status: 200, text: 'ok' }
    } catch (error) {
      // The message has no values of the payload, since values may be personal data.
      console.error(error instanceof RequestError ? error.message : error)
      // If the payload does not have the documented form, a repetition fails, too.
      if (error instanceof TypeError) return { status: 422, text: 'not of the documented form' }
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
  if (receiver.sendsConversations) void warnOfLimit(url, token)
}

type Answer = { readonly status: number; readonly text: string; readonly headers?: Record<string, string> }

let bytesInHand = 0

const bytesOf = async (request: IncomingMessage): Promise<Buffer | Answer> => {
  const late = setTimeout(() => request.destroy(), BODY_MS)
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      length += chunk.length
      bytesInHand += chunk.length
      if (length > MOST_BYTES) return { status: 413, text: 'too large' }
      if (bytesInHand > MOST_BYTES_IN_HAND) return AGAIN
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  } finally {
    clearTimeout(late)
    bytesInHand -= length
  }
}

const TEXT_IN_QUOTES = /"[^"\\]*(?:\\.[^"\\]*)*"/gs
const BREAKS: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

const jsonOf = (bytes: Buffer): unknown => {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return exactJsonOf(text) ?? exactJsonOf(text.replace(TEXT_IN_QUOTES, withoutBreaks))
  } catch {
    return undefined
  }
}

/** A trigger may put raw line breaks into a text, which JSON does not allow. */
const withoutBreaks = (text: string): string => text.replaceAll(/[\n\r\t]/g, (sign) => BREAKS[sign]!)

/**
 * A number beyond 2^53, which JavaScript may round or make infinite, becomes a text with the same
 * digits.
 */
const exactJsonOf = (text: string): unknown => {
  const exact = (_: string, value: unknown, { source }: { source?: string } = {}): unknown =>
    typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER ? (source ?? value) : value
  try {
    return JSON.parse(text, exact) ?? undefined
  } catch {
    return undefined
  }
}

/** Prints the rate limit at the start, before the service refuses a conversation. */
const warnOfLimit = async (url: string, token: string): Promise<void> => {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
  const address = `${url.replace(/\/+$/, '').replace(/\/api\/v1$/, '')}/api/v1/conversations`
  // The service refuses an empty body, and its answer has the limit.
  const response = await fetch(address, { method: 'POST', headers, body: '{}' }).catch(() => undefined)
  const [, most, seconds] = /q=(\d+).*w=(\d+)/.exec(response?.headers.get('RateLimit-Policy') ?? '') ?? []
  if (most === undefined) return
  console.warn(
    `The service takes ${most} conversations in ${seconds} s. Deliveries beyond this limit get 503, and are lost if the ` +
      'vendor does not repeat them. The operator can raise CONVERSATIONS_PER_MINUTE.',
  )
}

type Signature = {
  readonly algorithm: 'sha1' | 'sha256'
  readonly secret: string
  readonly encoding: 'hex' | 'base64'
}

/** The HMAC of the signed parts. */
export const signatureOf = (
  { algorithm, secret, encoding }: Signature,
  ...signed: readonly (string | Buffer)[]
): string => {
  const hmac = createHmac(algorithm, secret)
  for (const part of signed) hmac.update(part)
  return hmac.digest(encoding)
}

/** Compares in constant time. */
export const isSame = (given: string | undefined, expected: string): boolean => {
  const [bytes, expectedBytes] = [Buffer.from(given ?? ''), Buffer.from(expected)]
  return bytes.length === expectedBytes.length && timingSafeEqual(bytes, expectedBytes)
}

/** Whether a signature with this time is recent. */
export const isRecent = (time: string | undefined): boolean =>
  Math.abs(Date.now() - Date.parse(time ?? '')) <= SIGNED_WITHIN_MS
