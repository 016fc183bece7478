import { answerTimeMetric } from '../../db/answer-time.ts'
import { type LoopDelayWatch, loopDelayMetric } from '../../process/event-loop-delay.ts'
import { createCounter, gauge, gaugeOf, type Metric, metricText } from '../../process/metric-text.ts'
import type { Ledger } from '../../contract/ledger.ts'
import type { ProcessFigures } from '../../queue/process-reports.ts'
import type { WorkspaceLoad } from '../../queue/workspace-loads.ts'
import type { QueueDepth } from '../../queue/queue-depths.ts'
import { type Condition, loadsIn, type ReadCondition } from './condition.ts'
import type { BodyFigures } from '../submit/bodies-in-hand.ts'
import type { Ingress } from '../submit/ingress.ts'

export type Metrics = {
  count: Ingress['count']
  /** As Prometheus text. */
  render: () => Promise<string>
  /** What this process reports of itself to all processes. */
  figures: (postgresSeconds: number | undefined) => ProcessFigures
}

/** Counts what this process accepts and refuses, and tells that, its own state and the condition of the installation. */
export const createMetrics = (
  readCondition: ReadCondition,
  own: { loopDelay: LoopDelayWatch; bodies: () => BodyFigures },
): Metrics => {
  const submissions = createCounter(
    'feedback_insights_submissions_total',
    'Submissions by operation and result: accepted, or why refused.',
  )
  const unavailable = createCounter(
    'feedback_insights_unavailable_total',
    'Submissions that were refused with 503, by reason.',
  )
  let accepted = 0
  return {
    count: ({ operation, result, why }) => {
      if (why !== undefined) unavailable.add({ reason: why })
      if (result === 'accepted') accepted++
      submissions.add({ operation, result })
    },
    render: async () => {
      const condition = await readCondition()
      return metricText([
        submissions.read(),
        unavailable.read(),
        ...metricsOf(condition, loadsIn(condition) ?? []),
        ...bodyMetrics(own.bodies()),
        loopDelayMetric(own.loopDelay.current()),
      ])
    },
    figures: (postgresSeconds) => ({
      accepted,
      refused: submissions.total() - accepted,
      bodies: own.bodies(),
      loopDelaySeconds: own.loopDelay.current().p99,
      postgresSeconds: postgresSeconds ?? null,
    }),
  }
}

const metricsOf = (
  { redis, queues, processes, postgresSeconds, purges, ledgers }: Condition,
  loads: readonly WorkspaceLoad[],
): Metric[] => [
  gauge('feedback_insights_up', 'Whether this process reaches a server: 1, else 0.', [
    { labels: { server: 'redis' }, value: redis === undefined ? 0 : 1 },
    { labels: { server: 'postgres' }, value: postgresSeconds === undefined ? 0 : 1 },
  ]),
  gauge(
    'feedback_insights_processes',
    'Processes of the installation that reported in the last 10 s.',
    processes === undefined
      ? []
      : (['api', 'worker'] as const).map((kind) => ({
          labels: { kind },
          value: processes.filter((process) => process.kind === kind).length,
        })),
  ),
  ...queueMetrics(queues ?? []),
  ...waitingMetrics(loads),
  ...ledgerMetrics(ledgers ?? []),
  gaugeOf('feedback_insights_redis_memory_used_bytes', 'Memory that Redis uses.', redis?.usedBytes),
  gaugeOf('feedback_insights_redis_memory_max_bytes', 'Memory that Redis may use; 0 is any.', redis?.maxBytes),
  gaugeOf('feedback_insights_purges_under_way', 'Purges whose records are being removed.', purges?.underWay),
  gaugeOf('feedback_insights_fences', 'Identity keys that purges have ended.', purges?.fences),
  answerTimeMetric(postgresSeconds),
]

const bodyMetrics = ({ bytes, mostBytes }: BodyFigures): Metric[] => [
  gaugeOf('feedback_insights_bytes_in_hand', 'Bytes of bodies that this process reads, parses and validates.', bytes),
  gaugeOf('feedback_insights_bytes_in_hand_max', 'Bytes of bodies that it may have in hand.', mostBytes),
]

const QUEUE_STATES = ['waiting', 'active', 'delayed', 'failed'] as const

const queueMetrics = (queues: readonly QueueDepth[]): Metric[] => [
  gauge(
    'feedback_insights_queue_jobs',
    'Jobs in a queue by state.',
    queues.flatMap((depth) =>
      QUEUE_STATES.map((state) => ({ labels: { queue: depth.queue, state }, value: depth[state] })),
    ),
  ),
  gauge(
    'feedback_insights_queue_oldest_seconds',
    'Age of the oldest job of a queue that is neither done nor failed; 0 when there is none.',
    queues.map(({ queue, oldestSeconds }) => ({ labels: { queue }, value: oldestSeconds })),
  ),
]

/** A thousand workspaces have few figures here, and the same few as long as they wait. */
const WAITING_SHOWN = 10

const waitingMetrics = (loads: readonly WorkspaceLoad[]): Metric[] => {
  const most = loads
    .filter(({ waiting }) => waiting > 0)
    .toSorted((one, other) => other.waiting - one.waiting)
    .slice(0, WAITING_SHOWN)
  const ofEach = (of: (load: WorkspaceLoad) => number): Metric['figures'] =>
    most.map((load) => ({ labels: { workspace: load.id }, value: of(load) }))
  return [
    gauge(
      'feedback_insights_waiting_submissions',
      'Accepted submissions that are not settled, of the ten workspaces that have most of them.',
      ofEach(({ waiting }) => waiting),
    ),
    gauge(
      'feedback_insights_waiting_oldest_seconds',
      'Age of the oldest submission that is not settled, of the same ten workspaces.',
      ofEach(({ oldestSeconds }) => oldestSeconds),
    ),
  ]
}

const LEDGER_STATES = ['accepted', 'queued', 'applied', 'superseded', 'purged', 'dead'] as const

const ledgerMetrics = (ledgers: readonly Ledger[]): Metric[] => [
  gauge(
    'feedback_insights_ledger',
    'Submissions of a workspace: accepted, and what became of them.',
    ledgers.flatMap((ledger) =>
      LEDGER_STATES.map((state) => ({ labels: { workspace: ledger.workspaceId, state }, value: ledger[state] })),
    ),
  ),
  gauge(
    'feedback_insights_ledger_difference',
    'Accepted less all states; 0 but for what is just being settled.',
    ledgers.map(({ workspaceId, difference }) => ({ labels: { workspace: workspaceId }, value: difference })),
  ),
]
