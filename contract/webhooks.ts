import { Buffer } from 'node:buffer'
import { type HashKey, keyedHash } from './identity/own-id.ts'

/**
 * The secret that signs deliveries to a webhook, in the form of Standard Webhooks. It is derived
 * from the hash key, so the database does not hold it. `version`: each rotation derives the next
 * secret.
 */
export const webhookSecret = (hashKey: HashKey, webhookId: string, version: number): string => {
  const hash = Buffer.from(keyedHash(hashKey, JSON.stringify(['webhook', webhookId, version]), 'hex'), 'hex')
  return `whsec_${hash.toString('base64')}`
}
