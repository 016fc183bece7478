import * as v from 'valibot'
import { traceparent } from '../contract/jobs.ts'
import { describeFault } from '../runtime/fault.ts'
import type { Span, Tracing } from '../runtime/tracing.ts'
import type { Handler } from './serve.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']

const spans = new WeakMap<Request, Span>()

/** The span of a traced request. */
export const spanOf = (request: Request): Span | undefined => spans.get(request)

/**
 * Makes a span for each request whose path begins with one of `paths`. The span belongs to the
 * trace in the header `traceparent`, or to a new trace.
 */
export const traceRequests =
  (tracing: Tracing, paths: readonly string[], handle: Handler): Handler =>
  async (request) => {
    const { pathname } = new URL(request.url)
    if (!paths.some((path) => pathname.startsWith(path))) return handle(request)
    const given = v.safeParse(traceparent, request.headers.get('traceparent'))
    // An unknown method is text of the caller, which does not belong in a trace.
    const method = METHODS.includes(request.method) ? request.method : '_OTHER'
    const parent = given.success ? given.output : undefined
    const span = tracing.begin({ kind: 'server', name: method, parent, attributes: { 'http.request.method': method } })
    spans.set(request, span)
    try {
      const response = await handle(request)
      span.set({ 'http.response.status_code': response.status })
      if (response.status >= 500) span.fail(String(response.status))
      return response
    } catch (error) {
      span.fail(describeFault(error))
      throw error
    } finally {
      span.end()
    }
  }
