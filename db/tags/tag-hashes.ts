import { createCipheriv } from 'node:crypto'
import { keyedHash, type Realm } from '../../contract/identity/keys.ts'

const BLOCK_BYTES = 16
const LOW = 0x1_0000_0000
const HIGH_BITS = 0x1f_ffff

/**
 * The hashes of terms in their stored form: encrypted, and cut to 53 bits. The key for the
 * encryption is derived from the hash key and the workspace. Without the hash key, words cannot be
 * found by trying. One call of AES encrypts all hashes: an HMAC for each would take as long as
 * tagging.
 */
export const storedHashes = ({ hashKey, workspaceId }: Realm, hashes: readonly number[]): number[] => {
  const key = keyedHash(hashKey, JSON.stringify([workspaceId, 'tag_term']))
  const blocks = Buffer.alloc(hashes.length * BLOCK_BYTES)
  hashes.forEach((hash, at) => {
    blocks.writeUInt32BE(Math.floor(hash / LOW), at * BLOCK_BYTES)
    blocks.writeUInt32BE(hash % LOW, at * BLOCK_BYTES + 4)
  })
  // ECB shows equal blocks, as it has to: equal terms have equal hashes.
  const cipher = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false)
  const encrypted = Buffer.concat([cipher.update(blocks), cipher.final()])
  return hashes.map((_, at) => {
    const high = encrypted.readUInt32BE(at * BLOCK_BYTES)
    return (high & HIGH_BITS) * LOW + encrypted.readUInt32BE(at * BLOCK_BYTES + 4)
  })
}

/**
 * Numbers as the text of a Postgres array. From a JSON array, Postgres would make numerics, then
 * this text, and then parse it.
 */
export const arrayText = (numbers: readonly number[]): string => `{${numbers.join()}}`
