import type { ProcessMetrics } from './metrics.ts'

/** How late timers ran, in seconds: half of them at most `median`, 99 % of them at most `p99`. */
export type LoopDelay = { median: number; p99: number; max: number }
export type LoopDelayWatch = { current: () => LoopDelay; stop: () => void }

const LOOK_EVERY_MS = 50
/** The delay is that of the last looks: of 10 s, or of more when the loop was held up. */
const LOOKS_KEPT = 200

/**
 * Watches how long this process keeps its timers waiting. Not `monitorEventLoopDelay` of
 * node:perf_hooks: Bun 1.4.5 has it, but with Deno 2.9.6 it gave 1.1 ms at most where the loop had
 * been blocked for 200 ms.
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

export const tellLoopDelay = (metrics: ProcessMetrics, { current }: LoopDelayWatch): void =>
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
