import type { ProcessMetrics } from '../../runtime/metrics.ts'

/** Counts a call of an agent, and the records that its answer counts or shows. */
export type CountCall = (call: { workspaceId: string; tool: string; result: string; records: number }) => void

export const createCountCall = (counter: ProcessMetrics['counter']): CountCall => {
  const calls = counter({
    name: 'feedback_insights_agent_calls_total',
    help: 'Calls of agents that ran, by workspace, tool and result: answered, or why refused.',
    labels: ['workspace', 'tool', 'result'],
  })
  const shown = counter({
    name: 'feedback_insights_agent_records_total',
    help: 'Records that answers to agents count or show, by workspace and tool.',
    labels: ['workspace', 'tool'],
  })
  return ({ workspaceId: workspace, tool, result, records }) => {
    calls.inc({ workspace, tool, result })
    shown.inc({ workspace, tool }, records)
  }
}
