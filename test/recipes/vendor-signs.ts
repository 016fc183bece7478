import { createHmac } from 'node:crypto'
import documented from './documented-payloads.json' with { type: 'json' }

export type Headers = Readonly<Record<string, string>>
export type Sign = (bytes: string, secret: string) => Headers

const sha1Signature = (secret: string, signed: string): string =>
  createHmac('sha1', secret).update(signed).digest('hex')
const hmacSha256 = (secret: string, signed: string) => createHmac('sha256', secret).update(signed)
export const hexSignature = (secret: string, signed: string): string => hmacSha256(secret, signed).digest('hex')
export const base64Signature = (secret: string, signed: string): string => hmacSha256(secret, signed).digest('base64')

/** The headers by which a vendor proves that a delivery is genuine, as documented. */
export const SIGNS: Readonly<Record<string, Sign>> = {
  segment: (bytes, secret) => ({ 'X-Signature': sha1Signature(secret, bytes) }),
  rudderstack: (_, secret) => ({ Authorization: `Bearer ${secret}` }),
  zendesk: (bytes, secret) => {
    const at = new Date().toISOString()
    return {
      ...documented.ZENDESK_HEADERS,
      'x-zendesk-webhook-signature-timestamp': at,
      'X-Zendesk-Webhook-Signature': base64Signature(secret, `${at}${bytes}`),
    }
  },
  intercom: (bytes, secret) => ({ 'X-Hub-Signature': `sha1=${sha1Signature(secret, bytes)}` }),
  typeform: (bytes, secret) => ({ 'Typeform-Signature': `sha256=${base64Signature(secret, bytes)}` }),
}

/** The secret with which an application signs the ids of its users. */
export const USER_SECRET = 'of the application'
