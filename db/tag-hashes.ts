import { createCipheriv, createHmac } from 'node:crypto'
import type { Realm } from '../contract/identity/own-id.ts'

const BLOCK_BYTES = 16
const LOW = 0x1_0000_0000
const HIGH_BITS = 0x1f_ffff

/**
 * What terms are stored as: 53 bits of their hashes under a key that follows from the hash key and the workspace, so that
 * nobody without it can find out a word by trying. By AES, one call for all of them: an HMAC for each term would take as
 * long as tagging.
 */
export const storedHashes = ({ hashKey, workspaceId }: Realm, hashes: readonly number[]): number[] => {
  const key = createHmac('sha256', hashKey)
    .update(JSON.stringify([workspaceId, 'tag_term']))
    .digest()
  const blocks = Buffer.alloc(hashes.length * BLOCK_BYTES)
  hashes.forEach((hash, at) => {
    blocks.writeUInt32BE(Math.floor(hash / LOW), at * BLOCK_BYTES)
    blocks.writeUInt32BE(hash % LOW, at * BLOCK_BYTES + 4)
  })
  // Every block is another term, so none repeats, which is what this mode would show.
  const cipher = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false)
  const encrypted = Buffer.concat([cipher.update(blocks), cipher.final()])
  return hashes.map((_, at) => {
    const high = encrypted.readUInt32BE(at * BLOCK_BYTES)
    return (high & HIGH_BITS) * LOW + encrypted.readUInt32BE(at * BLOCK_BYTES + 4)
  })
}
