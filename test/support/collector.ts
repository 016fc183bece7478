import { serveHttp } from './http-server.ts'
import { until } from './until.ts'

/** A span as a collector receives it. */
export type CollectedSpan = {
  service: string
  traceId: string
  spanId: string
  parentSpanId: string | undefined
  name: string
  /** 2 is a server, 5 a consumer. */
  kind: number
  attributes: Readonly<Record<string, string | number>>
  /** The error of the span. */
  fault: string | undefined
  events: number
}

export type Collector = {
  readonly url: string
  /** The spans received so far. */
  readonly spans: () => readonly CollectedSpan[]
  /** Waits for a matching span. `what` names it in the message of a failure. */
  readonly span: (what: string, fits: (span: CollectedSpan) => boolean) => Promise<CollectedSpan>
  /** All answered requests as text, with their headers. */
  readonly received: () => string
  /** A collector that is away keeps its port, and closes each connection without an answer. */
  readonly setAway: (isAway: boolean) => void
  readonly close: () => void
}

/** A collector of OpenTelemetry (OTLP over HTTP, JSON). */
export const startCollector = async (): Promise<Collector> => {
  let isAway = false
  const spans: CollectedSpan[] = []
  let received = ''
  const { url, stop } = await serveHttp(({ method, url: path, headers, socket }, response, body) => {
    if (isAway) return socket.destroy()
    received += `${method} ${path}\n${JSON.stringify(headers)}\n${String(body)}\n`
    if (method === 'POST' && path === '/v1/traces') spans.push(...spansIn(JSON.parse(String(body))))
    return response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}')
  })
  return {
    url,
    spans: () => spans,
    span: (what, fits) => until(`the span of ${what}`, async () => spans.find(fits)),
    received: () => received,
    setAway: (away) => (isAway = away),
    close: stop,
  }
}

type Attributes = { key: string; value: { stringValue?: string; intValue?: number | string } }[]
type Sent = {
  resourceSpans: {
    resource: { attributes: Attributes }
    scopeSpans: {
      spans: (Omit<CollectedSpan, 'attributes' | 'service' | 'fault' | 'events'> & {
        attributes: Attributes
        status?: { message?: string }
        events?: unknown[]
      })[]
    }[]
  }[]
}

const spansIn = ({ resourceSpans }: Sent): CollectedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap((scope) =>
      scope.spans.map(({ traceId, spanId, parentSpanId, name, kind, attributes, status, events }) => ({
        service: String(valuesOf(resource.attributes)['service.name']),
        traceId,
        spanId,
        parentSpanId,
        name,
        kind,
        attributes: valuesOf(attributes),
        fault: status?.message,
        events: events?.length ?? 0,
      })),
    ),
  )

const valuesOf = (attributes: Attributes): Record<string, string | number> =>
  Object.fromEntries(
    attributes.map(({ key, value: { stringValue, intValue } }) => [key, stringValue ?? Number(intValue)]),
  )
