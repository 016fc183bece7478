import type { Operation } from '../../contract/submission.ts'
import type { Bucket, RateLimit } from '../../queue/admission/call-admit.ts'
import type { Refusal } from '../http/refusal.ts'
import type { EmptyBuckets, Intake, IntakeDependencies, RefusedIntake } from './intake.ts'

/** A waiting time for a header: rounded up, and at least a second. */
const wholeSeconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1_000))

/**
 * Sets the headers of the IETF draft draft-ietf-httpapi-ratelimit-headers. RateLimit-Policy has the
 * quota and its window. RateLimit has the rest and, if a token is spent, the seconds until one
 * returns. RateLimit is absent if the bucket was not read.
 */
export const setLimitHeaders = (
  headers: Headers,
  { tokens, windowMs }: RateLimit,
  { operation, bucket }: { operation: Operation; bucket: Bucket | undefined },
): void => {
  headers.set('RateLimit-Policy', `"${operation}";q=${tokens};w=${windowMs / 1_000}`)
  if (bucket === undefined) return
  const reset = bucket.resetMs > 0 ? `;t=${wholeSeconds(bucket.resetMs)}` : ''
  headers.set('RateLimit', `"${operation}";r=${bucket.remaining}${reset}`)
}

/**
 * Remembers empty buckets, so that the API reads no body in vain. No other process can make a token
 * return before its time.
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
    remember: (workspaceId, operation, bucket) => {
      if (bucket?.remaining === 0) emptyUntil.set(nameOf(workspaceId, operation), now() + bucket.resetMs)
    },
  }
}

/**
 * Refuses an intake early if its bucket is known to be empty. An intake with a key passes, since it
 * may repeat an accepted request.
 */
export const refuseByEmptyBucket = (
  dependencies: IntakeDependencies,
  { kind: { operation }, key, workspaceId }: Intake<'workspaceId'>,
): RefusedIntake | undefined => {
  const bucket = dependencies.emptyBuckets.find(workspaceId, operation)
  if (bucket === undefined || key !== null) return undefined
  return { refusal: rateLimited(dependencies, operation, bucket), bucket }
}

/** The refusal of a request over its limit. `bucket`: the state of the limit, if it was read. */
export const rateLimited = (
  { limitOf }: IntakeDependencies,
  operation: Operation,
  bucket: Bucket | undefined,
): Refusal => {
  const { tokens = 0, windowMs = 0 } = limitOf(operation) ?? {}
  const retryAfterSeconds = wholeSeconds(bucket?.resetMs ?? windowMs)
  return { refused: 'rate-limited', most: tokens, windowSeconds: windowMs / 1_000, retryAfterSeconds }
}
