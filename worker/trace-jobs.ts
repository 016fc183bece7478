import { QUEUE_OF, type SubmissionJob, type TaggingJob } from '../contract/job.ts'
import type { PurgeRows, Rows } from '../db/store.ts'
import type { Span, Tracing } from '../process/tracing.ts'
import type { InHand, StoreOutcome } from './delivery.ts'

/** Begins the span of a submission in hand, in the trace of its request; `endSubmissions` ends it. */
export const beginSubmission = (tracing: Tracing, submission: SubmissionJob, attempts: number): Span => {
  const { operation, workspaceId, submissionId } = submission
  const queue = QUEUE_OF[operation]
  return tracing.begin({
    kind: 'consumer',
    name: `process ${queue}`,
    parent: submission.traceparent,
    attributes: {
      'messaging.system': 'bullmq',
      'messaging.operation.type': 'process',
      'messaging.destination.name': queue,
      'feedback_insights.operation': operation,
      'feedback_insights.workspace.id': workspaceId,
      'feedback_insights.submission.id': submissionId,
      'feedback_insights.attempts': attempts,
    },
  })
}

/** Ends the spans of submissions. Without outcomes they are queued as before. */
export const endSubmissions = (inHand: readonly InHand[], outcomes?: readonly StoreOutcome[]): void => {
  inHand.forEach(({ span }, at) => {
    const outcome = outcomes?.[at] ?? 'queued'
    span?.set({ 'feedback_insights.state': outcome === 'decided' ? 'applied' : outcome })
    span?.end()
  })
}

type TracedRows = { rows: Rows | PurgeRows; span?: Span | undefined }

/** Tagging jobs with the traces of the submissions whose texts they tag. */
export const tracedTagging = (jobs: readonly TaggingJob[], stored: readonly TracedRows[]): TaggingJob[] =>
  jobs.map((job) => {
    const records = new Set([...job.feedbackIds, ...job.conversationIds])
    return {
      ...job,
      traceparents: stored.flatMap(({ rows, span }) =>
        span && 'submission' in rows && rows.submission.record !== null && records.has(rows.submission.record)
          ? [span.traceparent]
          : [],
      ),
    }
  })

/** Begins a span for each submission whose texts are tagged together: the tagging is part of all their traces. */
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
        'messaging.batch.message_count': job.feedbackIds.length + job.conversationIds.length,
        'feedback_insights.workspace.id': job.workspaceId,
        'feedback_insights.attempts': attempts,
      },
    }),
  )
