import type { ProcessMetrics } from './metrics.ts'

/** How late timers ran, in seconds. */
type LoopDelay = { median: number; p99: number; max: number }
export type LoopDelayWatch = { current: () => LoopDelay; stop: () => void }

/** Each look wakes the process, so an idle process looks rarely. */
const LOOK_EVERY_MS = 250
/** The delay covers at most this many looks: the last 10 s, or more if the loop was blocked. */
const LOOKS_KEPT = 40

/**
 * Measures how late timers of this process run. On Deno 2.9.6, `monitorEventLoopDelay` of
 * node:perf_hooks does not see a blocked loop.
 */
export const watchLoopDelay = (): LoopDelayWatch => {
  const delays: number[] = []
  let due = performance.now() + LOOK_EVERY_MS
  const timer = setInterval(() => {
    const now = performance.now()
    delays.push(Math.max(0, now - due) / 1_000)
    if (delays.length > LOOKS_KEPT) delays.shift()
    due = now + LOOK_EVERY_MS
  }, LOOK_EVERY_MS)
  timer.unref()
  return { current: () => delayOf(delays), stop: () => clearInterval(timer) }
}

const delayOf = (delays: readonly number[]): LoopDelay => {
  const sorted = delays.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0
  return { median: at(0.5), p99: at(0.99), max: at(1) }
}

export const registerLoopDelay = (metrics: ProcessMetrics, { current }: LoopDelayWatch): void =>
  metrics.gauge(
    {
      name: 'feedback_insights_event_loop_delay_seconds',
      help: 'How late timers of this process ran in the last 10 s.',
      labels: ['quantile'],
    },
    () => {
      const { median, p99, max } = current()
      return [
        { labels: { quantile: '0.5' }, value: median },
        { labels: { quantile: '0.99' }, value: p99 },
        { labels: { quantile: '1' }, value: max },
      ]
    },
  )
