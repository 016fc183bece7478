/**
 * By what near-identical texts are found. `bands`: texts with an equal number may be near-identical.
 * `marks`: `likeness` compares them. Both depend on the seed.
 */
export type Signature = { readonly bands: readonly number[]; readonly marks: Uint8Array }

const MARKS = 64
const BANDS = 8
const MARKS_OF_BAND = 3
const MAX_READ_CHARACTERS = 2_000
/** Characters of a piece, in scripts with and without spaces. */
const PIECE = 3
const UNSPACED_PIECE = 2
const UNSPACED = /[\u3041-\u30ff\u3400-\u9fff\u0e00-\u0e7f]/
/** From this share of equal marks on, two texts are near-identical. */
const LEAST_LIKENESS = 0.55

/**
 * The signature of a text, by MinHash over its pieces of two or three characters. Undefined for a text
 * without letters and digits. `seed` is a secret of the workspace: without it, a text cannot be found
 * by trying.
 */
export const signatureOf = (text: string, seed: number): Signature | undefined => {
  const pieces = hashPieces(text, seed)
  if (pieces.length === 0) return undefined
  const least = new Int32Array(MARKS).fill(0x7fffffff)
  for (const piece of pieces) {
    for (let at = 0; at < MARKS; at++) {
      const hash = (Math.imul(piece, FACTORS[at]!) + ADDENDS[at]!) | 0
      if (hash < least[at]!) least[at] = hash
    }
  }
  return {
    bands: Array.from({ length: BANDS }, (_, band) => hashBand(least, band)),
    marks: Uint8Array.from(least),
  }
}

/** The share of the pieces that two texts have in common, as their marks show it: 0 to 1. */
export const likeness = (a: Signature['marks'], b: Signature['marks']): number => {
  let equal = 0
  for (let at = 0; at < MARKS; at++) if (a[at] === b[at]) equal++
  return equal / MARKS
}

export const isNearIdentical = (a: Signature['marks'], b: Signature['marks']): boolean =>
  likeness(a, b) >= LEAST_LIKENESS

/** A piece that stands more than once is listed more than once. */
const hashPieces = (text: string, seed: number): number[] => {
  const letters = text.slice(0, MAX_READ_CHARACTERS).normalize('NFKC').toLowerCase().toWellFormed()
  const words = letters.replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ').trim()
  const pieces: number[] = []
  if (words === '') return pieces
  const size = UNSPACED.test(words) ? UNSPACED_PIECE : PIECE
  const read = ` ${words} `
  for (let start = 0; start + size <= read.length; start++) {
    let hash = seed
    for (let at = start; at < start + size; at++) hash = mix(hash ^ read.charCodeAt(at))
    pieces.push(hash)
  }
  return pieces
}

const mix = (value: number): number => {
  let hash = Math.imul(value ^ (value >>> 16), 0x7feb352d)
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b)
  return hash ^ (hash >>> 16)
}

/**
 * Each mark is the least of a linear function of the mixed pieces. A function that mixes each time
 * finds no more, and takes five times as long.
 */
const FACTORS = Int32Array.from({ length: MARKS }, (_, at) => mix(2 * at + 1) | 1)
const ADDENDS = Int32Array.from({ length: MARKS }, (_, at) => mix(2 * at + 2))

/** A number of 53 bits: two texts have it by chance too rarely to matter. */
const hashBand = (least: Int32Array, band: number): number => {
  let [high, low] = [band + 1, 0]
  for (let at = 0; at < MARKS_OF_BAND; at++) {
    const mark = least[band * MARKS_OF_BAND + at]!
    high = mix(high ^ mark)
    low = mix(low ^ Math.imul(mark, 0x9e3779b1) ^ at)
  }
  return (high & 0x1fffff) * 0x1_0000_0000 + (low >>> 0)
}
