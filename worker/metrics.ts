import type { DeliveredJob } from '../queue/delivered-job.ts'
import { answerTimeMetric } from '../db/answer-time.ts'
import { type LoopDelayWatch, loopDelayMetric } from '../process/event-loop-delay.ts'
import { createCounter, createHistogram, metricText } from '../process/metric-text.ts'
import type { QueueName } from '../contract/queues.ts'
import { type ProcessFigures, STORAGE_BOUNDS_SECONDS } from '../queue/process-reports.ts'

const ATTEMPT_BOUNDS = [1, 2, 3, 5, 8] as const
const MICROSECONDS_IN_MS = 1_000

type WorkerMetrics = {
  completed: (queue: QueueName, job: DeliveredJob, result: unknown) => void
  failed: (queue: QueueName) => void
  /** As Prometheus text. */
  render: () => Promise<string>
  /** What this worker reports of itself to the other processes. */
  figures: () => Promise<ProcessFigures>
}

type Sources = { loopDelay: LoopDelayWatch; answerSeconds: () => Promise<number | undefined>; now: () => number }

/** Metrics of the jobs that this process worked on and of its own condition. */
export const createWorkerMetrics = ({ loopDelay, answerSeconds, now }: Sources): WorkerMetrics => {
  const jobs = createCounter(
    'feedback_insights_jobs_total',
    'Jobs that this worker was done with, by what became of them; failed are attempts, and most are tried again.',
  )
  const attempts = createHistogram(
    'feedback_insights_job_attempts',
    'Attempts that jobs took until this worker was done with them.',
    ATTEMPT_BOUNDS,
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
  let failures = 0
  // The counter is there from the start, so that a rate over it knows its first zero.
  tagged.add({}, 0)
  return {
    completed: (queue, job, result) => {
      jobs.add({ queue, outcome: typeof result === 'string' ? result : 'done' })
      attempts.observe({ queue }, job.attemptsMade)
      if (queue === 'tagging') tagged.add({}, typeof result === 'number' ? result : 0)
      // Every submission's job has a number, even a job that is delivered again after its submission was settled.
      const number = (job.data as { number?: unknown } | null)?.number
      if (typeof number !== 'number' || result === 'settled') return
      // The number is a time of Redis's clock, which can be a little ahead of this machine's.
      stored.observe({ queue }, Math.max(0, now() - number / MICROSECONDS_IN_MS) / 1_000)
    },
    failed: (queue) => {
      failures++
      jobs.add({ queue, outcome: 'failed' })
    },
    render: async () =>
      metricText([
        ...[jobs, attempts, stored, tagged].map((metric) => metric.read()),
        loopDelayMetric(loopDelay.current()),
        answerTimeMetric(await answerSeconds()),
      ]),
    figures: async () => ({
      failed: failures,
      tagged: tagged.total(),
      stored: stored.totals(),
      loopDelaySeconds: loopDelay.current().p99,
      postgresSeconds: (await answerSeconds()) ?? null,
    }),
  }
}
