import type { Operation } from '../contract/submission.ts'
import type { QueueName } from '../contract/jobs.ts'

/**
 * All attributes of a span: kinds, counts and the service's own ids. No attribute has submitted
 * content. An attribute that OpenTelemetry defines has the name from there.
 */
type SpanAttributes = {
  'http.request.method'?: string
  'http.route'?: string
  'http.response.status_code'?: number
  'messaging.system'?: 'bullmq'
  'messaging.operation.type'?: 'process'
  'messaging.destination.name'?: QueueName
  /** How many submissions the worker applies together, or how many texts the job tags. */
  'messaging.batch.message_count'?: number
  'feedback_insights.operation'?: Operation | 'batch'
  'feedback_insights.workspace.id'?: string
  'feedback_insights.submission.id'?: string
  /** Why a request was refused. */
  'feedback_insights.refused'?: string
  /** The state of the submission, as in its receipt. */
  'feedback_insights.state'?: string
  'feedback_insights.attempts'?: number
}

/** A piece of work in a trace. */
export type Span = {
  /** Work with this parent belongs to the same trace. */
  readonly traceparent: string
  readonly set: (attributes: SpanAttributes) => void
  /** Marks the work as failed; `fault` comes from `describeFault`. */
  readonly fail: (fault: string) => void
  readonly end: () => void
}

export type SpanBeginning = {
  kind: 'server' | 'consumer'
  name: string
  /** The traceparent of the work that caused this work; undefined for the first work of a trace. */
  parent: string | undefined
  attributes: SpanAttributes
}

export type Tracing = {
  begin: (beginning: SpanBeginning) => Span
  /** Sends the remaining spans, for two seconds at most. */
  stop: () => Promise<void>
}
