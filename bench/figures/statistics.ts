/** One figure over several rounds. */
export type Summary = { readonly median: number; readonly least: number; readonly most: number }

/** @throws when there are no values. */
export const summarise = (values: readonly number[]): Summary => {
  if (values.length === 0) throw new Error('There are no values to sum up')
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const median = sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
  return { median, least: sorted[0]!, most: sorted.at(-1)! }
}

/** The value below which the given share of the sorted values lies; 0 without values. */
export const percentile = (sorted: ArrayLike<number>, share: number): number => {
  return sorted.length === 0 ? 0 : sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!
}
