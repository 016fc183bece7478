/**
 * A hash of 53 bits, which fit a JavaScript number and a bigint. It is the same on every runtime,
 * and not secret in itself.
 */
export const hashTerm = (term: string): number => {
  let high = 0x9e3779b9
  let low = 0x85ebca6b
  for (let at = 0; at < term.length; at++) {
    const code = term.charCodeAt(at)
    high = Math.imul(high ^ code, 0x01000193)
    low = Math.imul(low ^ (code + (high >>> 15)), 0xc2b2ae35)
  }
  high = Math.imul(high ^ (high >>> 16) ^ low, 0x7feb352d)
  low = Math.imul(low ^ (low >>> 13) ^ high, 0x846ca68b)
  return ((high ^ (high >>> 15)) & 0x1fffff) * 0x1_0000_0000 + ((low ^ (low >>> 16)) >>> 0)
}

/** The hash of a term that counts the texts with this word in people's tags. */
export const hashInTag = (stem: string): number => hashTerm(`in tag\n${stem}`)
