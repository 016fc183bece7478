import type { Span } from '../process/tracing.ts'

/** A request below the base path; it has a span when it is traced. */
export type Incoming = { request: Request; token: string | undefined; span: Span | undefined }
