import { hash, randomBytes } from 'node:crypto'
import { type HashKey, keyedHash } from './identity/keys.ts'

const PREFIX = 'fbi_'
const RANDOM_BYTES = 24
const CHECKSUM_CHARACTERS = 8

/**
 * A token of the environment: 16 to 200 visible ASCII characters. The service's own tokens match,
 * too.
 */
const BOOTSTRAP_TOKEN = /^[\x21-\x7e]{16,200}$/

/** Makes a token: prefix, 192 random bits in base64url, checksum. */
export const makeToken = (): string => {
  const body = PREFIX + randomBytes(RANDOM_BYTES).toString('base64url')
  return body + checksum(body)
}

const checksum = (body: string): string => tokenHash(body).slice(0, CHECKSUM_CHARACTERS)

/**
 * False for a text that cannot be a token and needs no look-up. A token without the prefix can be a
 * bootstrap token.
 */
export const isPlausibleToken = (token: string): boolean => {
  if (!BOOTSTRAP_TOKEN.test(token)) return false
  if (!token.startsWith(PREFIX)) return true
  const body = token.slice(0, -CHECKSUM_CHARACTERS)
  return token.slice(-CHECKSUM_CHARACTERS) === checksum(body)
}

/** The SHA-256 of a token in hexadecimal. The database has this hash, never the token. */
export const tokenHash = (token: string): string => hash('sha256', token)

/**
 * The secret that signs deliveries to a webhook, in the form of Standard Webhooks. The secret is
 * derived from the hash key, and the database does not contain it. `version`: each rotation derives
 * the next secret.
 */
export const webhookSecret = (hashKey: HashKey, webhookId: string, version: number): string => {
  const secret = keyedHash(hashKey, JSON.stringify(['webhook', webhookId, version]))
  return `whsec_${secret.toString('base64')}`
}
