import type { Credential } from '../authenticate.ts'
import type { Span } from '../../runtime/tracing.ts'

/**
 * `token`: undefined if the request has no well-formed bearer token. `span`: present if the request
 * is traced.
 */
export type Arrival = {
  readonly request: Request
  readonly token: Credential | undefined
  readonly span: Span | undefined
}
