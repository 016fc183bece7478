const FIRST_MS = 500
const LONGEST_MS = 10_000
const GOOD_RUN_MS = 30_000

/**
 * Milliseconds to wait before a start; more after each failure, and few again after a good run of
 * `ranMs`.
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
