import type { Queue } from 'bullmq'
import type { Ledger } from '../db/ledger.ts'
import type { Ingress } from './submit.ts'

export type Metrics = { count: Ingress['count']; render: () => Promise<string> }

/** What this process accepted and refused, and how much waits in every queue, as Prometheus text. */
export const createMetrics = (queues: readonly Queue[], readLedgers: () => Promise<Ledger[]>): Metrics => {
  const results = new Map<string, number>()
  return {
    count: ({ operation, result }) => {
      const labels = `operation="${operation}",result="${result}"`
      results.set(labels, (results.get(labels) ?? 0) + 1)
    },
    render: async () => {
      const depths = await Promise.all(
        queues.map(async (queue) => {
          const counts = await queue.getJobCounts('waiting', 'active', 'delayed', 'failed')
          return Object.entries(counts).map(
            ([state, count]) => `feedback_insights_queue_jobs{queue="${queue.name}",state="${state}"} ${count}`,
          )
        }),
      )
      return [
        '# HELP feedback_insights_submissions_total Submissions by operation and result: accepted, or why refused.',
        '# TYPE feedback_insights_submissions_total counter',
        ...[...results].map(([labels, count]) => `feedback_insights_submissions_total{${labels}} ${count}`),
        '# HELP feedback_insights_queue_jobs Jobs in a queue by state.',
        '# TYPE feedback_insights_queue_jobs gauge',
        ...depths.flat(),
        ...describeLedgers(await readLedgers()),
        '',
      ].join('\n')
    },
  }
}

const LEDGER_STATES = ['accepted', 'queued', 'applied', 'superseded', 'purged', 'dead'] as const

const describeLedgers = (ledgers: readonly Ledger[]): string[] => [
  '# HELP feedback_insights_ledger Submissions of a workspace: accepted, and what became of them.',
  '# TYPE feedback_insights_ledger gauge',
  ...ledgers.flatMap((ledger) =>
    LEDGER_STATES.map(
      (state) => `feedback_insights_ledger{workspace="${ledger.workspaceId}",state="${state}"} ${ledger[state]}`,
    ),
  ),
  '# HELP feedback_insights_ledger_difference Accepted less all states; 0 when nothing is in flight.',
  '# TYPE feedback_insights_ledger_difference gauge',
  ...ledgers.map(
    ({ workspaceId, difference }) => `feedback_insights_ledger_difference{workspace="${workspaceId}"} ${difference}`,
  ),
]
