import type { Idempotency, Operation } from '../../contract/submission.ts'

/** `tokens` submissions; a spent token comes back `windowMs` after it was spent. */
export type RateLimit = { tokens: number; windowMs: number }

/**
 * The remaining tokens of a limit, and when the next spent token comes back; 0 if none is spent.
 */
export type Bucket = { remaining: number; resetMs: number }

export type AdmissionRequest = {
  workspaceId: string
  operation: Operation
  /** The body as JSON. */
  bodyText: string
  traceparent?: string | undefined
  limit?: RateLimit | undefined
  idempotency?: Idempotency | undefined
  /** Refuse the submission while its workspace has more waiting bytes than this. */
  mostBytes?: number
  /** Refuse the submission, but report the rate limit without using it up. */
  full?: boolean
  /** Only look up the idempotency key. */
  peek?: boolean
}

/** The state of the log before the submission. */
export type LogState = {
  /** All earlier submissions are applied. */
  isLogEmpty: boolean
  /** An earlier identify of a contact, or a conversation, is not applied. */
  isIdentifyWaiting: boolean
  /** An earlier purge is not applied. */
  isPurgeWaiting: boolean
}

/** `bucket` is set for an operation with a limit. Only an admitted submission spends a token. */
export type Admission =
  | ({
      outcome: 'admitted' | 'repeated'
      submissionId: string
      number: number
      bucket: Bucket | undefined
    } & LogState)
  | { outcome: 'rate-limited' | 'full' | 'other-body'; bucket: Bucket | undefined }
  /**
   * The submission is in the log, but on too few replicas. A failover can lose it, so do not
   * confirm it.
   */
  | { outcome: 'unreplicated'; bucket: Bucket | undefined }
  /** The answer to a peek: the key is unused. */
  | ({ outcome: 'fresh' } & LogState)

/**
 * Rejects if Redis does not answer. The submission may still be in the log, so confirm nothing.
 * Calls for one workspace within a tick of the event loop keep their order.
 */
export type Admit = (request: AdmissionRequest) => Promise<Admission>
