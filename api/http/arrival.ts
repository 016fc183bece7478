import type { Span } from '../../runtime/tracing.ts'

/**
 * `token`: undefined if the request has no well-formed bearer token. `span`: present if the request
 * is traced.
 */
export type Arrival = {
  readonly request: Request
  readonly token: string | undefined
  readonly span: Span | undefined
}
