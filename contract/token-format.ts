import { hash, randomBytes } from 'node:crypto'

const PREFIX = 'fbi_'
const RANDOM_BYTES = 24
const CHECKSUM_CHARACTERS = 8

/** A new token: prefix, 192 random bits in base64url, checksum. Only whoever asked for it ever has it. */
export const makeToken = (): string => {
  const body = PREFIX + randomBytes(RANDOM_BYTES).toString('base64url')
  return body + checksum(body)
}

const checksum = (body: string): string => tokenHash(body).slice(0, CHECKSUM_CHARACTERS)

/** False when it cannot be a token: worth no look-up. Bootstrap tokens have any form of 16 to 200 visible characters. */
export const isPlausibleToken = (token: string): boolean => {
  if (!/^[\x21-\x7e]{16,200}$/.test(token)) return false
  if (!token.startsWith(PREFIX)) return true
  const body = token.slice(0, -CHECKSUM_CHARACTERS)
  return token.slice(-CHECKSUM_CHARACTERS) === checksum(body)
}

/** What is stored of a token: its SHA-256, here in hexadecimal. */
export const tokenHash = (token: string): string => hash('sha256', token)
