import type { BodyKind } from '../bodies.ts'

/**
 * A load that the load generator is asked to send. `closed`: every connection sends its next
 * request when it has its answer. `open`: requests are due at a steady rate that does not depend on
 * the answers, and the time of each counts from when it was due.
 */
export type LoadOrder = {
  readonly url: string
  /** Requests take them in turn. */
  readonly tokens: readonly string[]
  readonly connections: number
  readonly seconds: number
  /** Requests a second; closed when absent. */
  readonly perSecond?: number
  readonly kind: BodyKind
  readonly people: number
  readonly numbers: Numbers
  /** Whether each request carries an `Idempotency-Key` of its own, which is that of its number. */
  readonly idempotencyKeys: boolean
  /** The numbers whose answers are returned. */
  readonly remembered?: readonly number[]
}

/** The numbers of the bodies: from the first on, so many at most, or just these. */
export type Numbers = { readonly from: number; readonly most: number } | readonly number[]

export type Answer = {
  readonly number: number
  readonly status: number
  readonly submissionId: string
  readonly body: string
}

export type LoadResult = {
  readonly accepted: number
  readonly refused: number
  /** Of all bodies that were sent. */
  readonly bodyBytes: number
  /** From the first request to the last answer. */
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly mostMs: number
  readonly answers: readonly Answer[]
}
