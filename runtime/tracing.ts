import type { Operation } from '../contract/submission.ts'
import type { QueueName } from '../contract/queues.ts'

/**
 * Everything that a span says about its work: kinds, counts and our own ids. There is no attribute
 * for anything that was submitted. Where OpenTelemetry has a name for an attribute, it has that
 * name.
 */
export type SpanAttributes = {
  'http.request.method'?: string
  'http.route'?: string
  'http.response.status_code'?: number
  'messaging.system'?: 'bullmq'
  'messaging.operation.type'?: 'process'
  'messaging.destination.name'?: QueueName
  /** How many submissions the same statement stored, or how many texts a tagging read. */
  'messaging.batch.message_count'?: number
  'feedback_insights.operation'?: Operation | 'batch'
  'feedback_insights.workspace.id'?: string
  'feedback_insights.submission.id'?: string
  /** Why a request was turned away. */
  'feedback_insights.refused'?: string
  /** The state of the submission, as its receipt gives it. */
  'feedback_insights.state'?: string
  'feedback_insights.attempts'?: number
}

/** A piece of work in a trace. */
export type Span = {
  /** Work that begins with this as its parent belongs to the same trace. */
  readonly traceparent: string
  readonly set: (attributes: SpanAttributes) => void
  /** Marks the work as failed; `fault` comes from `describeFault`. */
  readonly fail: (fault: string) => void
  readonly end: () => void
}

export type SpanBeginning = {
  kind: 'server' | 'consumer'
  name: string
  /** The traceparent of the work that led to this one; undefined when this one begins a trace. */
  parent: string | undefined
  attributes: SpanAttributes
}

export type Tracing = {
  begin: (beginning: SpanBeginning) => Span
  /** Sends the spans that are left, for two seconds at most. */
  stop: () => Promise<void>
}
