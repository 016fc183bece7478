import type { Bucket, RateLimit } from '../../queue/admission/admission.ts'
import type { Operation } from '../../contract/submission.ts'

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
