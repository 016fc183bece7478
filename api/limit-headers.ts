import type { Bucket, RateLimit } from '../queue/admission.ts'
import type { Operation } from '../contract/job.ts'

/** For a header that tells how long to wait: never less than a second, never less than it takes. */
export const wholeSeconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1_000))

/**
 * Sets RateLimit-Policy and RateLimit as the IETF draft (draft-ietf-httpapi-ratelimit-headers) has them: the quota and its window;
 * and, where the bucket was looked at, what remains and in how many seconds the next token is back, if one is missing.
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
