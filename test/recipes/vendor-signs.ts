import { createHmac } from 'node:crypto'
import documented from './documented-payloads.json' with { type: 'json' }

export type Headers = Readonly<Record<string, string>>
export type Sign = (bytes: string, secret: string) => Headers

const sha1 = (secret: string, signed: string): string => createHmac('sha1', secret).update(signed).digest('hex')
export const sign256 = (secret: string, signed: string): string =>
  createHmac('sha256', secret).update(signed).digest('hex')
export const sha256 = (secret: string, signed: string): string =>
  createHmac('sha256', secret).update(signed).digest('base64')

/** Signs in the documented form of the vendors. */
export const SIGNS: Readonly<Record<string, Sign>> = {
  segment: (bytes, secret) => ({ 'X-Signature': sha1(secret, bytes) }),
  rudderstack: (_, secret) => ({ Authorization: `Bearer ${secret}` }),
  zendesk: (bytes, secret) => {
    const at = new Date().toISOString()
    return {
      ...documented.ZENDESK_HEADERS,
      'x-zendesk-webhook-signature-timestamp': at,
      'X-Zendesk-Webhook-Signature': sha256(secret, `${at}${bytes}`),
    }
  },
  intercom: (bytes, secret) => ({ 'X-Hub-Signature': `sha1=${sha1(secret, bytes)}` }),
  typeform: (bytes, secret) => ({ 'Typeform-Signature': `sha256=${sha256(secret, bytes)}` }),
}

/** The secret with which an application signs the ids of its users. */
export const USER_SECRET = 'of the application'
