import * as v from 'valibot'

/**
 * A trace context in version 00 of W3C Trace Context (https://www.w3.org/TR/trace-context/). The
 * ids of the trace and of the span are not all zeros.
 */
export const traceparent = v.pipe(v.string(), v.regex(/^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/))
