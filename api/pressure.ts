/** From this share of its memory on Redis takes no new work, so that workers, who need some to work, can always drain it. */
const FULL_SHARE = 0.8
const SAMPLE_EVERY_MS = 250

export type PressureSample = { usedBytes: number; maxBytes: number; waiting: number }
export type Pressure = {
  current: () => 'redis-memory' | 'backlog' | undefined
  /** To be told of what is queued: large bodies can fill much between two samples. */
  added: (bytes: number) => void
  stop: () => void
}

/** Watches whether Redis is nearly full or too much is waiting. A sample that fails leaves the last judgement as it was. */
export const watchPressure = (sample: () => Promise<PressureSample>, maxWaiting: number): Pressure => {
  let last: PressureSample = { usedBytes: 0, maxBytes: 0, waiting: 0 }
  let addedBytes = 0
  let looking = false
  const look = async (): Promise<void> => {
    if (looking) return
    looking = true
    const known = addedBytes
    try {
      last = await sample()
      addedBytes -= known
    } catch {
      // Redis is away: admission itself finds out and refuses.
    } finally {
      looking = false
    }
  }
  void look()
  const timer = setInterval(() => void look(), SAMPLE_EVERY_MS)
  return {
    current: () => {
      const { usedBytes, maxBytes, waiting } = last
      if (maxBytes > 0 && usedBytes + addedBytes >= FULL_SHARE * maxBytes) return 'redis-memory'
      return waiting >= maxWaiting ? 'backlog' : undefined
    },
    added: (bytes) => {
      addedBytes += bytes
    },
    stop: () => clearInterval(timer),
  }
}
