import { Buffer } from 'node:buffer'
import { hash } from 'node:crypto'

/**
 * The secret of the installation under which keys are hashed: the two pads of HMAC (RFC 2104), made
 * with it. `outer` has room behind its pad for the inner hash.
 */
export type HashKey = { inner: Buffer; outer: Buffer }

const BLOCK_BYTES = 64
const HASH_BYTES = 32
const INNER_PAD = 0x36
const OUTER_PAD = 0x5c

/** From 64 hexadecimal digits (`HASH_KEY`). */
export const hashKeyFrom = (hexadecimal: string): HashKey => {
  const key = Buffer.concat([Buffer.from(hexadecimal, 'hex')], BLOCK_BYTES)
  const padded = (pad: number): Buffer => Buffer.from(key.map((byte) => byte ^ pad))
  return { inner: padded(INNER_PAD), outer: Buffer.concat([padded(OUTER_PAD)], BLOCK_BYTES + HASH_BYTES) }
}

/**
 * HMAC-SHA-256 of a text. A conversation can need 20,000 of them before it is answered. The HMAC
 * object of node:crypto takes several times as long on Deno, and half a kilobyte of memory on Bun,
 * so no such object is made.
 */
export const keyedHash = ({ inner, outer }: HashKey, text: string, encoding: 'hex' | 'base64url'): string => {
  const message = Buffer.allocUnsafe(BLOCK_BYTES + Buffer.byteLength(text))
  message.set(inner)
  message.write(text, BLOCK_BYTES)
  outer.set(hash('sha256', message, 'buffer'), BLOCK_BYTES)
  return hash('sha256', outer, encoding)
}

/** What ids are made with. The workspace is part of it, so two workspaces share no id. */
export type Realm = { hashKey: HashKey; workspaceId: string }

/**
 * What an own id can stand for: a key by which a contact, account or project is meant, or a record
 * that is found again by its key.
 */
export type KeyKind =
  | 'contact_external'
  | 'contact_bare'
  | 'contact_email'
  | 'contact_record'
  | 'account_external'
  | 'account_name'
  | 'account_domain'
  | 'project'
  | 'feedback'
  | 'conversation'
  | 'message'

/**
 * The id of a key in a workspace: a keyed SHA-256 as a UUID of version 8. Every process makes the
 * same one, before anything is stored. Without the hash key it tells nothing about the key.
 */
export const ownId = ({ hashKey, workspaceId }: Realm, kind: KeyKind, ...parts: readonly string[]): string => {
  const hex = keyedHash(hashKey, JSON.stringify([workspaceId, kind, ...parts]), 'hex')
  return uuidOf(hex, '89ab'[Number.parseInt(hex[16]!, 16) & 3]!)
}

/**
 * The own id of a key after so many purges of it (its epoch): a purged id is never given again.
 * Epoch 0 is the key itself. The key is a keyed hash already, so a plain hash is enough.
 */
export const idOfEpoch = (keyId: string, epoch: number): string =>
  epoch === 0 ? keyId : uuidOf(hash('sha256', `${keyId}:${epoch}`, 'hex'), '8')

/** The first 128 bits of a hash as a UUID of version 8. */
const uuidOf = (hex: string, variant: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/**
 * The canonical form of a text that can be an own id. Undefined for any other text: it is no own
 * id.
 */
export const asOwnId = (value: string): string | undefined => (UUID.test(value) ? value.toLowerCase() : undefined)
