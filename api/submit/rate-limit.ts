import type { Operation } from '../../contract/submission.ts'
import type { Bucket, RateLimit } from '../../queue/admission/call-admit.ts'

/** A waiting time for a header: rounded up, and at least a second. */
export const wholeSeconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1_000))

/**
 * Sets the headers of the IETF draft draft-ietf-httpapi-ratelimit-headers. RateLimit-Policy has the
 * quota and its window. RateLimit, set if the bucket was read, has the rest and, if a token is
 * spent, the seconds until one returns.
 */
export const describeLimit = (
  headers: Headers,
  { tokens, windowMs }: RateLimit,
  { operation, bucket }: { operation: Operation; bucket: Bucket | undefined },
): void => {
  headers.set('RateLimit-Policy', `"${operation}";q=${tokens};w=${windowMs / 1_000}`)
  if (bucket === undefined) return
  const reset = bucket.resetMs > 0 ? `;t=${wholeSeconds(bucket.resetMs)}` : ''
  headers.set('RateLimit', `"${operation}";r=${bucket.remaining}${reset}`)
}

export type EmptyBuckets = {
  /** The bucket of a workspace and operation if it is known to be empty, else undefined. */
  find: (workspaceId: string, operation: Operation) => Bucket | undefined
  /** Records the state of a bucket. */
  seen: (workspaceId: string, operation: Operation, bucket: Bucket | undefined) => void
}

/**
 * Remembers empty buckets, so that the API reads no body in vain. A token returns at its time and
 * never earlier, for all processes alike.
 */
export const createEmptyBuckets = (now: () => number): EmptyBuckets => {
  const emptyUntil = new Map<string, number>()
  const nameOf = (workspaceId: string, operation: Operation): string => `${workspaceId} ${operation}`
  return {
    find: (workspaceId, operation) => {
      const name = nameOf(workspaceId, operation)
      const until = emptyUntil.get(name)
      if (until === undefined) return undefined
      const resetMs = until - now()
      if (resetMs > 0) return { remaining: 0, resetMs }
      emptyUntil.delete(name)
      return undefined
    },
    seen: (workspaceId, operation, bucket) => {
      if (bucket?.remaining === 0) emptyUntil.set(nameOf(workspaceId, operation), now() + bucket.resetMs)
    },
  }
}
