import type { Bucket, RateLimit } from '../../queue/admission/admission.ts'
import type { Operation } from '../../contract/submission.ts'

/** A time as a header has it that says how long to wait: rounded up, and a second at least. */
export const wholeSeconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1_000))

/**
 * Sets the headers of the IETF draft draft-ietf-httpapi-ratelimit-headers: RateLimit-Policy has the
 * quota and its window. RateLimit is set where the bucket was looked at, and has what remains and,
 * if a token is spent, in how many seconds it is back.
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
