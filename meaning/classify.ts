import { ALL, type Cell, type Sums, sumOf } from './sums.ts'

/** How the sums of a workspace join the weights that ship. */
export type Learning = {
  /** How much the weights that ship count with many labels; with none, it is 1. */
  readonly shipped: number
  /** How much its texts count with few, and with many labels. */
  readonly least: number
  readonly most: number
  /** How much it counts that a class is frequent. */
  readonly frequency: number
}

/** So many labelled texts are many. */
export const MANY_TEXTS = 1_000
/** So many texts with the usual share of each cue are mixed into each class. */
const USUAL_TEXTS = 10
/** As if each class had so many labelled texts more. */
const EVEN_TEXTS = 5

/**
 * The probability of each class of a text. `scores` are those of the general signs, for each class.
 * The sums add a naive Bayes score of the cues, by the texts that are labelled with the cell of each
 * class.
 */
export const classify = (
  scores: readonly number[],
  { cues, sums, cells, learning }: { cues: readonly number[]; sums: Sums; cells: readonly Cell[]; learning: Learning },
): number[] => {
  const texts = cells.map((cell) => sumOf(sums, ALL, cell))
  const all = total(texts)
  if (all === 0) return toShares(scores)
  const learned = cells.map(() => 0)
  let known = 0
  for (const cue of cues) {
    const row = sums.get(cue)
    if (row === undefined) continue
    const withCue = cells.map((cell) => row.get(cell) ?? 0)
    const usual = total(withCue) / all
    if (usual === 0) continue
    known++
    for (const [at, count] of withCue.entries())
      learned[at]! += Math.log((count / usual + USUAL_TEXTS) / (texts[at]! + USUAL_TEXTS))
  }
  const share = Math.min(1, all / MANY_TEXTS)
  const shipped = 1 + (learning.shipped - 1) * share
  const strength = learning.least + (learning.most - learning.least) * share
  return toShares(
    scores.map(
      (score, at) =>
        shipped * score +
        (strength * learned[at]!) / Math.sqrt(known + 1) +
        learning.frequency * Math.log((texts[at]! + EVEN_TEXTS) / (all + EVEN_TEXTS * cells.length)),
    ),
  )
}

const total = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0)

const toShares = (scores: readonly number[]): number[] => {
  const top = Math.max(...scores)
  const powers = scores.map((score) => Math.exp(score - top))
  const sum = total(powers)
  return powers.map((power) => power / sum)
}
