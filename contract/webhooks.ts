import { Buffer } from 'node:buffer'
import { type HashKey, keyedHash } from './identity/own-id.ts'

/**
 * The secret with which deliveries to a webhook are signed, as Standard Webhooks writes it. It is
 * made from the hash key, so the database does not hold it. `version`: a rotation makes the next
 * one.
 */
export const webhookSecret = (hashKey: HashKey, webhookId: string, version: number): string => {
  const hash = Buffer.from(keyedHash(hashKey, JSON.stringify(['webhook', webhookId, version]), 'hex'), 'hex')
  return `whsec_${hash.toString('base64')}`
}
