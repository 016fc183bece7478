import type { WebhookMessage } from './types.ts'

/** A message older or newer than this is refused, since a stranger may have recorded it. */
const MOST_SECONDS_APART = 300
const SECRET_PREFIX = 'whsec_'
const VERSION = 'v1,'

type WebHeaders = { readonly get: (name: string) => string | null }
type Headers = WebHeaders | Readonly<Record<string, unknown>>
const isWeb = (headers: Headers): headers is WebHeaders => typeof headers.get === 'function'

/**
 * The message of a webhook, if its signature is right and its time is at most five minutes away.
 * Rejects otherwise. `body`: the text as it was received; parsing and writing it again would change
 * it. `headers`: a `Headers`, or an object with names in lower case, as Node.js has it. `secret`: as
 * `npm run webhook -- create` has printed it.
 */
export const verifyWebhook = async (
  secret: string,
  { body, headers }: { readonly body: string; readonly headers: Headers },
): Promise<WebhookMessage> => {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => {
    const value: unknown = isWeb(headers) ? headers.get(name) : headers[name]
    if (typeof value !== 'string') throw new Error(`The request has no header ${name}.`)
    return value
  }) as [string, string, string]
  const secondsApart = Math.abs(Date.now() / 1_000 - Number(timestamp))
  if (!(secondsApart <= MOST_SECONDS_APART))
    throw new Error('The time in webhook-timestamp is more than five minutes away.')
  const key = await crypto.subtle.importKey(
    'raw',
    bytesOf(secret.replace(SECRET_PREFIX, '')),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['verify'],
  )
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`)
  // During a rotation of the secret, a message has two signatures.
  for (const signature of signatures.split(' ')) {
    if (!signature.startsWith(VERSION)) continue
    if (await crypto.subtle.verify('HMAC', key, bytesOf(signature.slice(VERSION.length)), signed))
      return JSON.parse(body) as WebhookMessage
  }
  throw new Error('No signature in webhook-signature is right. Check the secret, and that the body is unchanged.')
}

const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
