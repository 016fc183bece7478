import type { Operation } from '../contract/job.ts'
import type { QueueName } from '../contract/queues.ts'

/**
 * All that a span says of its work: kinds, counts and ids of ours. There is no room for anything that was submitted. Names are
 * those of OpenTelemetry where it has one.
 */
export type SpanAttributes = {
  'http.request.method'?: string
  'http.route'?: string
  'http.response.status_code'?: number
  'messaging.system'?: 'bullmq'
  'messaging.operation.type'?: 'process'
  'messaging.destination.name'?: QueueName
  /** Submissions that were stored by the same statement, or texts of a tagging. */
  'messaging.batch.message_count'?: number
  'feedback_insights.operation'?: Operation
  'feedback_insights.workspace.id'?: string
  'feedback_insights.submission.id'?: string
  /** Why a request was turned away. */
  'feedback_insights.refused'?: string
  /** In which a submission is, as its receipt says it. */
  'feedback_insights.state'?: string
  'feedback_insights.attempts'?: number
}

/** A piece of work in a trace. */
export type Span = {
  /** Makes what follows from this work part of the same trace. */
  readonly traceparent: string
  readonly set: (attributes: SpanAttributes) => void
  /** It failed: with what, as `describeFault` says it. */
  readonly fail: (fault: string) => void
  readonly end: () => void
}

export type SpanBeginning = {
  kind: 'server' | 'consumer'
  name: string
  /** Absent: a trace begins. */
  parent: string | undefined
  attributes: SpanAttributes
}

export type Tracing = {
  begin: (beginning: SpanBeginning) => Span
  /** Sends what is left, for two seconds at most. */
  stop: () => Promise<void>
}
