import { QUEUE_OF, type SubmissionJob } from '../contract/job.ts'
import type { Outcome } from './delivery.ts'
import { laneTimes, type OnLaneTime } from './lane-times.ts'
import { tellAnswerTime } from '../db/answer-time.ts'
import { type LoopDelayWatch, tellLoopDelay } from '../process/event-loop-delay.ts'
import { openMetrics, type ProcessMetrics } from '../process/metrics.ts'
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
  const metrics = openMetrics('worker')
  const { settled, attempts: attemptsTaken, failures, stored, tagged } = countersIn(metrics)
  const lanes = laneTimes(() => performance.now())
  metrics.counted(
    {
      name: 'feedback_insights_lane_seconds_total',
      help: 'Time that statements which store took in this worker, by workspace: of up to ten that take much, and of all others.',
      labels: ['workspace'],
    },
    lanes.counted,
  )
  tellLoopDelay(metrics, loopDelay)
  let lastAnswerSeconds: number | undefined
  tellAnswerTime(metrics, () => lastAnswerSeconds)
  const totals = { failed: 0, tagged: 0, stored: [...STORAGE_BOUNDS_SECONDS, Infinity].map(() => 0) }
  return {
    settled: ({ operation, number }, outcome, attempts) => {
      const queue = QUEUE_OF[operation]
      settled.inc({ queue, operation, outcome: typeof outcome === 'string' ? outcome : 'applied' })
      attemptsTaken.observe({ queue }, attempts)
      // The number is a time of Redis's clock, which can be a little ahead of this machine's.
      const seconds = Math.max(0, now() - number / MICROSECONDS_IN_MS) / 1_000
      stored.observe({ queue }, seconds)
      const above = STORAGE_BOUNDS_SECONDS.findIndex((bound) => seconds <= bound)
      totals.stored[above === -1 ? STORAGE_BOUNDS_SECONDS.length : above]!++
    },
    tagged: (texts) => {
      tagged.inc(texts)
      totals.tagged += texts
    },
    failed: (queue) => {
      failures.inc({ queue })
      totals.failed++
    },
    laneTime: lanes.add,
    render: async () => {
      lastAnswerSeconds = await answerSeconds()
      return metrics.text()
    },
    figures: async () => ({
      ...totals,
      stored: [...totals.stored],
      lanes: lanes.lately(),
      loopDelaySeconds: loopDelay.current().p99,
      postgresSeconds: (await answerSeconds()) ?? null,
    }),
  }
}

const countersIn = ({ counter, histogram }: ProcessMetrics) => ({
  settled: counter({
    name: 'feedback_insights_settled_total',
    help: 'Submissions that this worker was done with, by what became of them.',
    labels: ['queue', 'operation', 'outcome'],
  }),
  attempts: histogram({
    name: 'feedback_insights_settled_attempts',
    help: 'Attempts that submissions took until this worker was done with them.',
    labels: ['queue'],
    buckets: ATTEMPT_BOUNDS,
  }),
  failures: counter({
    name: 'feedback_insights_job_failures_total',
    help: 'Attempts at jobs that failed; most are made again.',
    labels: ['queue'],
  }),
  stored: histogram({
    name: 'feedback_insights_storage_seconds',
    help: 'Time from acceptance until a submission was stored, superseded, purged or set aside, or its purge had ended.',
    labels: ['queue'],
    buckets: STORAGE_BOUNDS_SECONDS,
  }),
  tagged: counter({
    name: 'feedback_insights_tagged_texts_total',
    help: 'Texts that this worker generated tags for or learned from.',
  }),
})
