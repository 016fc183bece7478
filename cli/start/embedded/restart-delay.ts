const FIRST_MS = 500
const LONGEST_MS = 10_000
const GOOD_RUN_MS = 30_000

/**
 * The delay before a start, in milliseconds. It grows with each failure, and is short again after a
 * good run of `ranMs`.
 */
export const restartDelays = (): { readonly next: (ranMs: number) => number } => {
  let failures = 0
  return {
    next: (ranMs) => {
      failures = ranMs >= GOOD_RUN_MS ? 1 : failures + 1
      return Math.min(FIRST_MS * 2 ** (failures - 1), LONGEST_MS)
    },
  }
}
