import type { Idempotency } from '../../contract/idempotency.ts'
import type { Operation } from '../../contract/submission.ts'

/** `tokens` submissions; a spent token comes back `windowMs` after it was spent. */
export type RateLimit = { tokens: number; windowMs: number }

/** What is left of a limit, and when the next spent token comes back; 0 when none is spent. */
export type Bucket = { remaining: number; resetMs: number }

export type AdmissionRequest = {
  workspaceId: string
  operation: Operation
  /** The body as JSON. */
  bodyText: string
  traceparent?: string | undefined
  limit?: RateLimit | undefined
  idempotency?: Idempotency | undefined
  /** Refuse the submission while its workspace has more bytes waiting than these. */
  mostBytes?: number
  /** Refuse the submission. The limit is judged all the same, and not used up. */
  full?: boolean
  /** Only look the idempotency key up. */
  peek?: boolean
}

/** The log as it was before the submission. */
export type LogState = {
  /** Everything before it was applied. */
  isLogEmpty: boolean
  /** An identify of a contact, or a conversation, before it was not applied. */
  isIdentifyWaiting: boolean
  /** A purge before it was not applied. */
  isPurgeWaiting: boolean
}

/** `bucket` is there for an operation with a limit. Only an admitted submission spends a token. */
export type Admission =
  | ({
      outcome: 'admitted' | 'repeated'
      submissionId: string
      number: number
      bucket: Bucket | undefined
    } & LogState)
  | { outcome: 'rate-limited' | 'full' | 'other-body'; bucket: Bucket | undefined }
  /**
   * It is in the log, but too few replicas have it: a failover can lose it, so do not confirm it.
   */
  | { outcome: 'unreplicated'; bucket: Bucket | undefined }
  /** The answer to a peek: no submission had this key. */
  | ({ outcome: 'fresh' } & LogState)

/**
 * Rejects when Redis does not answer. The submission may be in the log all the same, so confirm
 * nothing. Calls for one workspace within a turn of the event loop keep their order.
 */
export type Admit = (request: AdmissionRequest) => Promise<Admission>
