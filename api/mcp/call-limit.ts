const WINDOW_MS = 60_000
const MS_PER_SECOND = 1_000

/** Counts the call and returns 0 if the call may go on, else returns the seconds until it may. */
export type CallLimit = (tokenHash: string) => number

/**
 * Bounds the calls of each token in any 60 seconds. Each process counts its own calls: the bound
 * stops runaway loops, and is no basis for bills.
 */
export const createCallLimit = (most: number, steadily: () => number): CallLimit => {
  const calls = new Map<string, number[]>()
  let sweptAt = steadily()
  return (tokenHash) => {
    const now = steadily()
    const isRecent = (at: number): boolean => now - at < WINDOW_MS
    if (!isRecent(sweptAt)) {
      for (const [key, times] of calls) if (!isRecent(times.at(-1)!)) calls.delete(key)
      sweptAt = now
    }
    const recent = (calls.get(tokenHash) ?? []).filter(isRecent)
    const isFull = recent.length >= most
    if (!isFull) recent.push(now)
    calls.set(tokenHash, recent)
    return isFull ? Math.ceil((recent[0]! + WINDOW_MS - now) / MS_PER_SECOND) : 0
  }
}
