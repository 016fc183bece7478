import { registerAnswerTime } from '../db/connection/answer-time.ts'
import type { QueueName } from '../contract/jobs.ts'
import type { Operation, Removal } from '../contract/submission.ts'
import { type LoopDelayWatch, registerLoopDelay } from '../runtime/event-loop-delay.ts'
import { createProcessMetrics, type ProcessMetrics } from '../runtime/metrics.ts'
import { type ProcessFigures, STORAGE_BOUNDS_SECONDS } from '../queue/jobs/process-reports.ts'
import { MICROSECONDS_PER_MS } from '../queue/keys.ts'
import type { OnSettled } from './apply/follow-up.ts'
import { createApplyTimes, type OnApplyTime } from './apply-times.ts'

const ATTEMPT_BOUNDS = [1, 2, 3, 5, 8] as const

type WorkerMetrics = {
  settled: OnSettled
  /** Counts a purge whose records are removed. */
  purged: (removal: Pick<Removal, 'number' | 'operation'>, attempts: number) => void
  tagged: (texts: number) => void
  failed: (queue: QueueName) => void
  applyTime: OnApplyTime
  /** Does the work of a backlog job, and counts the job as in hand meanwhile. */
  trackDeep: <T>(work: () => Promise<T>) => Promise<T>
  /** As Prometheus text. */
  render: () => Promise<string>
  /** The figures for the report of this worker. */
  figures: () => Promise<ProcessFigures>
}

type MetricSources = { loopDelay: LoopDelayWatch; answerSeconds: () => Promise<number | undefined>; now: () => number }

type Settled = { state: string; attempts: number; isDeep: boolean }

/** Metrics of this process and of its jobs. */
export const createWorkerMetrics = ({ now, ...sources }: MetricSources): WorkerMetrics => {
  const metrics = createProcessMetrics('worker')
  const counters = countersIn(metrics)
  const applying = registerApplyTimes(metrics)
  const delays = registerDelays(metrics, sources)
  const totals = { failed: 0, tagged: 0, stored: [...STORAGE_BOUNDS_SECONDS, Infinity].map(() => 0) }
  let deepInHand = 0
  const countSettled = (operation: Operation, number: number, how: Settled) => {
    // The number is a time of Redis's clock, which can be a little ahead of this machine's clock.
    const seconds = Math.max(0, now() - number / MICROSECONDS_PER_MS) / 1_000
    counters.settled.inc({ operation, outcome: how.state })
    counters.attempts.observe({ operation }, how.attempts)
    counters.stored.observe({ operation }, seconds)
    if (deepInHand > 0 && !how.isDeep) counters.dwell.observe(seconds)
    totals.stored[bucketOf(seconds)]!++
  }
  return {
    settled: ({ operation, number }, state, how) => countSettled(operation, number, { state, ...how }),
    purged: (gone, attempts) => countSettled(gone.operation, gone.number, { state: 'applied', attempts, isDeep: true }),
    tagged: (texts) => {
      counters.tagged.inc(texts)
      totals.tagged += texts
    },
    failed: (queue) => {
      counters.failures.inc({ queue })
      totals.failed++
    },
    applyTime: applying.add,
    trackDeep: async (work) => {
      deepInHand++
      return work().finally(() => deepInHand--)
    },
    render: () => delays.measure().then(() => metrics.text()),
    figures: async () => ({
      ...totals,
      stored: [...totals.stored],
      applying: applying.lately(),
      ...(await delays.current()),
    }),
  }
}

/** The delays of this process and of Postgres. */
const registerDelays = (metrics: ProcessMetrics, { loopDelay, answerSeconds }: Omit<MetricSources, 'now'>) => {
  let lastAnswerSeconds: number | undefined
  registerLoopDelay(metrics, loopDelay)
  registerAnswerTime(metrics, () => lastAnswerSeconds)
  return {
    measure: async (): Promise<void> => {
      lastAnswerSeconds = await answerSeconds()
    },
    current: async () => ({
      loopDelaySeconds: loopDelay.current().p99,
      postgresSeconds: (await answerSeconds()) ?? null,
    }),
  }
}

const bucketOf = (seconds: number): number => {
  const at = STORAGE_BOUNDS_SECONDS.findIndex((bound) => seconds <= bound)
  return at === -1 ? STORAGE_BOUNDS_SECONDS.length : at
}

const registerApplyTimes = (metrics: ProcessMetrics): ReturnType<typeof createApplyTimes> => {
  const times = createApplyTimes(() => performance.now())
  metrics.scrapedCounter(
    {
      name: 'feedback_insights_applying_seconds_total',
      help: 'Time of strides in this worker: of each of up to ten heavy workspaces, and of all others together.',
      labels: ['workspace'],
    },
    times.counted,
  )
  return times
}

const countersIn = ({ counter, histogram }: ProcessMetrics) => ({
  settled: counter({
    name: 'feedback_insights_settled_total',
    help: 'Submissions that this worker took out of the state queued, by outcome.',
    labels: ['operation', 'outcome'],
  }),
  attempts: histogram({
    name: 'feedback_insights_settled_attempts',
    help: 'Attempts of submissions that ended dead and of purges; 1 for each other submission.',
    labels: ['operation'],
    buckets: ATTEMPT_BOUNDS,
  }),
  failures: counter({
    name: 'feedback_insights_job_failures_total',
    help: 'Failed attempts at jobs. Workers repeat most of them.',
    labels: ['queue'],
  }),
  stored: histogram({
    name: 'feedback_insights_storage_seconds',
    help: 'Time from acceptance until a submission was applied, superseded or set aside, or a purge had ended.',
    labels: ['operation'],
    buckets: STORAGE_BOUNDS_SECONDS,
  }),
  dwell: histogram({
    name: 'feedback_insights_dwell_seconds',
    help: 'Time from acceptance until a submission of a short log was applied, while this worker applies a deep workspace.',
    buckets: STORAGE_BOUNDS_SECONDS,
  }),
  tagged: counter({
    name: 'feedback_insights_tagged_texts_total',
    help: 'Texts that this worker generated tags for or learned from.',
  }),
})
