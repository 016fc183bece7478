import { registerAnswerTime } from '../../db/connection/answer-time.ts'
import { type LoopDelayWatch, registerLoopDelay } from '../../runtime/event-loop-delay.ts'
import { createProcessMetrics, type Figure, figureOf, type ProcessMetrics } from '../../runtime/metrics.ts'
import type { ProcessFigures } from '../../queue/jobs/process-reports.ts'
import type { WorkspaceLoad } from '../../health/workspace-loads.ts'
import type { QueueDepth } from '../../queue/jobs/queue-depths.ts'
import { type Condition, loadsIn, type ReadCondition } from '../../health/condition.ts'
import type { BodyFigures } from '../http/bodies-in-hand.ts'
import { registerLedgers } from './ledger-metrics.ts'
import type { IntakeDependencies } from '../submit/intake.ts'

export type Metrics = {
  count: IntakeDependencies['count']
  /** Counts an answered request and its time. `route` is the pattern of the route, not the path. */
  answered: (request: { method: string; route: string; status: number; seconds: number }) => void
  /** For the counts of a capability. */
  counter: ProcessMetrics['counter']
  /** The metrics in the text format of Prometheus. */
  render: () => Promise<string>
  /** The report of this process to the other processes. */
  figures: (postgresSeconds: number | undefined) => ProcessFigures
}

const REQUEST_BOUNDS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const

/**
 * Counts submissions and requests in this process. The metrics are these counts,
 * the state of the process and the condition of the installation.
 */
export const createMetrics = (
  readCondition: ReadCondition,
  own: { loopDelay: LoopDelayWatch; bodies: () => BodyFigures },
): Metrics => {
  const metrics = createProcessMetrics('api')
  const { submissions, unavailable, requests } = createCounters(metrics)
  let latest: Latest = { condition: { at: 0 }, loads: [] }
  registerCondition(metrics, () => latest)
  registerBodies(metrics, own.bodies)
  registerLoopDelay(metrics, own.loopDelay)
  let accepted = 0
  let refused = 0
  return {
    count: ({ operation, result, why }) => {
      if (why !== undefined) unavailable.inc({ reason: why })
      if (result === 'accepted') accepted++
      else refused++
      submissions.inc({ operation, result })
    },
    answered: ({ method, route, status, seconds }) =>
      requests.observe({ method, route, status: String(status) }, seconds),
    counter: metrics.counter,
    render: async () => {
      const condition = await readCondition()
      latest = { condition, loads: loadsIn(condition) ?? [] }
      return metrics.text()
    },
    figures: (postgresSeconds) => ({
      accepted,
      refused,
      bodies: own.bodies(),
      loopDelaySeconds: own.loopDelay.current().p99,
      postgresSeconds: postgresSeconds ?? null,
    }),
  }
}

const createCounters = ({ counter, histogram }: ProcessMetrics) => ({
  submissions: counter({
    name: 'feedback_insights_submissions_total',
    help: 'Submissions by operation and result: accepted, or why refused.',
    labels: ['operation', 'result'],
  }),
  unavailable: counter({
    name: 'feedback_insights_unavailable_total',
    help: 'Submissions that were refused with 503, by reason.',
    labels: ['reason'],
  }),
  requests: histogram({
    name: 'feedback_insights_request_seconds',
    help: 'Time until a request was answered, including waits for a submission or for changes.',
    labels: ['method', 'route', 'status'],
    buckets: REQUEST_BOUNDS_SECONDS,
  }),
})

/** The condition of the installation at the scrape, and the load of each workspace. */
type Latest = { condition: Condition; loads: readonly WorkspaceLoad[] }

const registerCondition = (metrics: ProcessMetrics, latest: () => Latest): void => {
  const { gauge } = metrics
  const condition = (): Condition => latest().condition
  gauge(
    {
      name: 'feedback_insights_up',
      help: '1 if this process reaches the server, else 0.',
      labels: ['server'],
    },
    () => [
      { labels: { server: 'redis' }, value: condition().redis === undefined ? 0 : 1 },
      { labels: { server: 'postgres' }, value: condition().postgresSeconds === undefined ? 0 : 1 },
    ],
  )
  gauge(
    {
      name: 'feedback_insights_processes',
      help: 'Processes of the installation that reported in the last 10 s.',
      labels: ['kind'],
    },
    () => {
      const { processes } = condition()
      if (processes === undefined) return []
      return KINDS.map((kind) => ({
        labels: { kind },
        value: processes.filter((process) => process.kind === kind).length,
      }))
    },
  )
  registerQueues(metrics, () => condition().queues ?? [])
  registerWaiting(metrics, () => latest().loads)
  registerLedgers(metrics, () => condition().ledgers ?? [])
  registerAnswerTime(metrics, () => condition().postgresSeconds)
  for (const [name, help, value] of UNLABELLED_GAUGES) gauge({ name, help }, () => figureOf(value(condition())))
}

const KINDS = ['api', 'worker'] as const
const UNLABELLED_GAUGES: readonly (readonly [
  name: string,
  help: string,
  value: (condition: Condition) => number | undefined,
])[] = [
  [
    'feedback_insights_silent_workers',
    'Workers that are connected to Redis and do not report.',
    ({ silent }) => silent,
  ],
  ['feedback_insights_redis_memory_used_bytes', 'Memory that Redis uses.', ({ redis }) => redis?.usedBytes],
  [
    'feedback_insights_redis_memory_max_bytes',
    'Memory that Redis may use; 0 means no limit.',
    ({ redis }) => redis?.maxBytes,
  ],
  ['feedback_insights_purges_under_way', 'Purges whose records are being removed.', ({ purges }) => purges?.underWay],
  ['feedback_insights_purged_keys', 'Purged keys that are kept as keyed hashes.', ({ purges }) => purges?.purgedKeys],
  [
    'feedback_insights_webhooks_failing',
    'Active webhooks whose latest deliveries were not confirmed.',
    ({ webhooks }) => webhooks?.failing,
  ],
  [
    'feedback_insights_webhooks_ended',
    'Webhooks that ended after a day of failures, after a 410, or for lack of tombstones.',
    ({ webhooks }) => webhooks?.ended,
  ],
  [
    'feedback_insights_changes_undelivered',
    'Changes that webhooks have not confirmed after several attempts.',
    ({ webhooks }) => webhooks?.undelivered,
  ],
]

const registerBodies = ({ gauge }: ProcessMetrics, bodies: () => BodyFigures): void => {
  gauge(
    {
      name: 'feedback_insights_bytes_in_hand',
      help: 'Bytes of bodies that this process reads, parses, validates and sends to Redis, and of large answers that it writes.',
    },
    () => figureOf(bodies().bytes),
  )
  gauge({ name: 'feedback_insights_bytes_in_hand_max', help: 'Bound of feedback_insights_bytes_in_hand.' }, () =>
    figureOf(bodies().mostBytes),
  )
}

const QUEUE_STATES = ['waiting', 'active', 'delayed', 'failed'] as const

const registerQueues = ({ gauge }: ProcessMetrics, queues: () => readonly QueueDepth[]): void => {
  gauge({ name: 'feedback_insights_queue_jobs', help: 'Jobs in a queue by state.', labels: ['queue', 'state'] }, () =>
    queues().flatMap((depth) =>
      QUEUE_STATES.map((state) => ({ labels: { queue: depth.queue, state }, value: depth[state] })),
    ),
  )
  gauge(
    {
      name: 'feedback_insights_queue_oldest_seconds',
      help: 'Age of the oldest unfinished job of a queue; 0 if there is none. A failed job counts as finished.',
      labels: ['queue'],
    },
    () => queues().map(({ queue, oldestSeconds }) => ({ labels: { queue }, value: oldestSeconds })),
  )
}

/** Keeps the series few, even with a thousand workspaces. */
const WAITING_SHOWN = 10

const registerWaiting = ({ gauge }: ProcessMetrics, loads: () => readonly WorkspaceLoad[]): void => {
  const highest = (measure: (load: WorkspaceLoad) => number): Figure[] =>
    loads()
      .filter(({ waiting }) => waiting > 0)
      .map((load) => ({ labels: { workspace: load.id }, value: measure(load) }))
      .toSorted((one, other) => other.value - one.value)
      .slice(0, WAITING_SHOWN)
  gauge(
    {
      name: 'feedback_insights_waiting_submissions',
      help: 'Accepted submissions that are not applied, of the ten workspaces that have most of them.',
      labels: ['workspace'],
    },
    () => highest(({ waiting }) => waiting),
  )
  gauge(
    {
      name: 'feedback_insights_waiting_oldest_seconds',
      help: 'Age of the oldest submission that is not applied, of the ten workspaces where it is oldest.',
      labels: ['workspace'],
    },
    () => highest(({ oldestSeconds }) => oldestSeconds),
  )
}
