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
  const blocks = new DataView(new ArrayBuffer(hashes.length * BLOCK_BYTES))
  for (const [at, hash] of hashes.entries()) {
    blocks.setUint32(at * BLOCK_BYTES, hash / LOW)
    blocks.setUint32(at * BLOCK_BYTES + 4, hash % LOW)
  }
  // ECB shows equal blocks, as it has to: equal terms have equal hashes.
  const cipher = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false)
  const { buffer, byteOffset } = Buffer.concat([cipher.update(blocks), cipher.final()])
  const encrypted = new DataView(buffer, byteOffset)
  return hashes.map((_, at) => {
    const high = encrypted.getUint32(at * BLOCK_BYTES)
    return (high & HIGH_BITS) * LOW + encrypted.getUint32(at * BLOCK_BYTES + 4)
  })
}

/**
 * Numbers as the text of a Postgres array. From a JSON array, Postgres would make numerics, then
 * this text, and then parse it.
 */
export const arrayText = (numbers: readonly number[]): string => `{${numbers.join()}}`
