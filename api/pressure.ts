/** From this share of its memory on Redis takes no new work, so that workers, who need some to work, can always drain it. */
const FULL_SHARE = 0.8
const SAMPLE_EVERY_MS = 1_000

export type PressureSample = { usedBytes: number; maxBytes: number; waiting: number }
export type Pressure = { current: () => 'redis-memory' | 'backlog' | undefined; stop: () => void }

/** Watches whether Redis is nearly full or too much is waiting. A sample that fails leaves the last judgement as it was. */
export const watchPressure = (sample: () => Promise<PressureSample>, maxWaiting: number): Pressure => {
  let judgement: ReturnType<Pressure['current']>
  const look = async (): Promise<void> => {
    try {
      const { usedBytes, maxBytes, waiting } = await sample()
      if (maxBytes > 0 && usedBytes >= FULL_SHARE * maxBytes) judgement = 'redis-memory'
      else judgement = waiting >= maxWaiting ? 'backlog' : undefined
    } catch {
      // Redis is away: admission itself finds out and refuses.
    }
  }
  void look()
  const timer = setInterval(() => void look(), SAMPLE_EVERY_MS)
  return { current: () => judgement, stop: () => clearInterval(timer) }
}
