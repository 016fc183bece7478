import { QUEUE_OF, type SubmissionJob } from '../contract/job.ts'
import type { Outcome } from './delivery.ts'
import { laneTimes, type OnLaneTime } from './lane-times.ts'
import { answerTimeMetric } from '../db/answer-time.ts'
import { type LoopDelayWatch, loopDelayMetric } from '../process/event-loop-delay.ts'
import { createCounter, createHistogram, metricText } from '../process/metric-text.ts'
import type { QueueName } from '../contract/queues.ts'
import { type ProcessFigures, STORAGE_BOUNDS_SECONDS } from '../queue/process-reports.ts'

const ATTEMPT_BOUNDS = [1, 2, 3, 5, 8] as const
const MICROSECONDS_IN_MS = 1_000

type WorkerMetrics = {
  settled: (submission: SubmissionJob, outcome: Outcome, attempts: number) => void
  tagged: (texts: number) => void
  failed: (queue: QueueName) => void
  laneTime: OnLaneTime
  /** As Prometheus text. */
  render: () => Promise<string>
  /** What this worker reports of itself to the other processes. */
  figures: () => Promise<ProcessFigures>
}

type Sources = { loopDelay: LoopDelayWatch; answerSeconds: () => Promise<number | undefined>; now: () => number }

/** Metrics of the jobs that this process worked on and of its own condition. */
export const createWorkerMetrics = ({ loopDelay, answerSeconds, now }: Sources): WorkerMetrics => {
  const settled = createCounter(
    'feedback_insights_settled_total',
    'Submissions that this worker was done with, by what became of them.',
  )
  const attemptsTaken = createHistogram(
    'feedback_insights_settled_attempts',
    'Attempts that submissions took until this worker was done with them.',
    ATTEMPT_BOUNDS,
  )
  const failures = createCounter(
    'feedback_insights_job_failures_total',
    'Attempts at jobs that failed; most are made again.',
  )
  const stored = createHistogram(
    'feedback_insights_storage_seconds',
    'Time from acceptance until a submission was stored, superseded, purged or set aside, or its purge had ended.',
    STORAGE_BOUNDS_SECONDS,
  )
  const tagged = createCounter(
    'feedback_insights_tagged_texts_total',
    'Texts that this worker generated tags for or learned from.',
  )
  const lanes = laneTimes(now)
  // The counter is there from the start, so that a rate over it knows its first zero.
  tagged.add({}, 0)
  return {
    settled: ({ operation, number }, outcome, attempts) => {
      const queue = QUEUE_OF[operation]
      settled.add({ queue, operation, outcome: typeof outcome === 'string' ? outcome : 'applied' })
      attemptsTaken.observe({ queue }, attempts)
      // The number is a time of Redis's clock, which can be a little ahead of this machine's.
      stored.observe({ queue }, Math.max(0, now() - number / MICROSECONDS_IN_MS) / 1_000)
    },
    tagged: (texts) => tagged.add({}, texts),
    failed: (queue) => failures.add({ queue }),
    laneTime: lanes.add,
    render: async () =>
      metricText([
        ...[settled, attemptsTaken, failures, stored, tagged, lanes].map((metric) => metric.read()),
        loopDelayMetric(loopDelay.current()),
        answerTimeMetric(await answerSeconds()),
      ]),
    figures: async () => ({
      failed: failures.total(),
      tagged: tagged.total(),
      stored: stored.totals(),
      lanes: lanes.lately(),
      loopDelaySeconds: loopDelay.current().p99,
      postgresSeconds: (await answerSeconds()) ?? null,
    }),
  }
}
