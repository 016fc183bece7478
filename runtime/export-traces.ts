import { type Context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace'
import type { Logger } from './logger.ts'
import { describeFault } from './fault.ts'
import type { Span, SpanBeginning, Tracing } from './tracing.ts'
import { withinTime } from './within-time.ts'

/** The most spans that wait to be sent, of about 1 KB each. Further spans are dropped. */
const MAX_WAITING_SPANS = 4_096
const SEND_EVERY_MS = 1_000
const SEND_TIMEOUT_MS = 5_000
const STOP_WITHIN_MS = 2_000

const KINDS = { server: SpanKind.SERVER, consumer: SpanKind.CONSUMER } as const

/**
 * Sends spans to the collector at this base URL in groups, without delaying the traced work. The
 * exporter reads further options (headers, compression) from OpenTelemetry's own environment
 * variables.
 */
export const exportTraces = (process: 'api' | 'worker', endpoint: string, log: Logger): Tracing => {
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    timeoutMillis: SEND_TIMEOUT_MS,
  })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': `feedback-insights-${process}` }),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: createLoggingExporter(exporter, log),
        maxQueueSize: MAX_WAITING_SPANS,
        scheduledDelayMillis: SEND_EVERY_MS,
        exportTimeoutMillis: SEND_TIMEOUT_MS,
      }),
    ],
  })
  const tracer = provider.getTracer('feedback-insights')
  return {
    begin: ({ kind, name, parent, attributes }: SpanBeginning): Span => {
      const span = tracer.startSpan(name, { kind: KINDS[kind], attributes }, contextOf(parent))
      const { traceId, spanId, traceFlags } = span.spanContext()
      return {
        traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
        set: (more) => void span.setAttributes(more),
        fail: (fault) => void span.setStatus({ code: SpanStatusCode.ERROR, message: fault }),
        end: () => span.end(),
      }
    },
    stop: () => withinTime(provider.shutdown(), STOP_WITHIN_MS).catch(() => {}),
  }
}

const contextOf = (traceparent: string | undefined): Context => {
  if (traceparent === undefined) return ROOT_CONTEXT
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-')
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true })
}

/** Logs once when the collector stops taking spans, and once when it takes them again. */
const createLoggingExporter = (exporter: SpanExporter, log: Logger): SpanExporter => {
  let isReached = true
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const { error } = result
        if (error !== undefined && isReached) log('warn', 'collector_unreachable', { fault: describeFault(error) })
        if (error === undefined && !isReached) log('info', 'collector_reachable')
        isReached = error === undefined
        done(result)
      }),
    shutdown: () => exporter.shutdown(),
  }
}
