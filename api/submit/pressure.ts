import { REDIS_FULL_SHARE } from '../../contract/limits.ts'

const SAMPLE_EVERY_MS = 250

export type PressureSample = { usedBytes: number; maxBytes: number; waiting: number }
export type Pressure = {
  /** Why nothing may be taken in at this moment; undefined when it may. */
  current: () => 'redis-memory' | 'backlog' | undefined
  /** Counts the bytes of what was queued since the last sample: large bodies can fill Redis between two samples. */
  added: (bytes: number) => void
  stop: () => void
}

/** Watches whether Redis is nearly full or too much is waiting. A sample that fails leaves the last one in force. */
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
      // Redis is away. Admission finds that out by itself and refuses.
    } finally {
      looking = false
    }
  }
  void look()
  const timer = setInterval(() => void look(), SAMPLE_EVERY_MS)
  return {
    current: () => {
      const { usedBytes, maxBytes, waiting } = last
      if (maxBytes > 0 && usedBytes + addedBytes >= REDIS_FULL_SHARE * maxBytes) return 'redis-memory'
      return waiting >= maxWaiting ? 'backlog' : undefined
    },
    added: (bytes) => {
      addedBytes += bytes
    },
    stop: () => clearInterval(timer),
  }
}
