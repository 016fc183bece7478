import * as v from 'valibot'

/**
 * Where a piece of work belongs in a trace: version 00 of W3C Trace Context (https://www.w3.org/TR/trace-context/), with the ids
 * of a trace and of a span that are not all zeros.
 */
export const traceparent = v.pipe(v.string(), v.regex(/^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/))
