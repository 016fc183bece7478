import type { TaggingJob } from '../contract/jobs.ts'
import type { SubmissionState } from '../contract/receipt.ts'
import type { Submission } from '../contract/submission.ts'
import type { Span, Tracing } from '../runtime/tracing.ts'

/** The spans of submissions that are applied together, by submission id. Empty without tracing. */
export type StrideSpans = ReadonlyMap<string, Span>

/** Begins a span for each submission, in the trace of its request. */
export const beginStride = (
  tracing: Tracing | undefined,
  queue: 'wake' | 'backlog',
  submissions: readonly Submission[],
): StrideSpans =>
  new Map(
    tracing &&
      submissions.map(({ operation, workspaceId, submissionId, traceparent }) => [
        submissionId,
        tracing.begin({
          kind: 'consumer',
          name: `process ${queue}`,
          parent: traceparent,
          attributes: {
            'messaging.system': 'bullmq',
            'messaging.operation.type': 'process',
            'messaging.destination.name': queue,
            'messaging.batch.message_count': submissions.length,
            'feedback_insights.operation': operation,
            'feedback_insights.workspace.id': workspaceId,
            'feedback_insights.submission.id': submissionId,
          },
        }),
      ]),
  )

/**
 * The state of a submission after its stride: final, or `queued` for a decided purge. `fault`: why
 * it is dead.
 */
export type Ending = { state: SubmissionState; fault?: string }

/**
 * Ends the spans of the submissions with known endings. The other spans are never sent: the
 * submission ended before, or a later attempt begins a new span.
 */
export const endStride = (spans: StrideSpans, endings: ReadonlyMap<string, Ending>): void => {
  for (const [submissionId, { state, fault }] of endings) {
    const span = spans.get(submissionId)
    span?.set({ 'feedback_insights.state': state })
    if (fault !== undefined) span?.fail(fault)
    span?.end()
  }
}

/**
 * Begins a span for each traced submission of a tagging job, in the trace of its request. A job
 * without traced submissions gets one span in a new trace.
 */
export const beginTagging = (tracing: Tracing, job: TaggingJob, attempts: number): Span[] =>
  (job.traceparents ?? [undefined]).map((parent) =>
    tracing.begin({
      kind: 'consumer',
      name: 'process tagging',
      parent,
      attributes: {
        'messaging.system': 'bullmq',
        'messaging.operation.type': 'process',
        'messaging.destination.name': 'tagging',
        'messaging.batch.message_count':
          job.feedbackIds.length + job.conversationIds.length + (job.indexedIds?.length ?? 0),
        'feedback_insights.workspace.id': job.workspaceId,
        'feedback_insights.attempts': attempts,
      },
    }),
  )
