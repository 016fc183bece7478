/**
 * What the load generator is asked to send. `closed`: every connection sends its next request when it has its answer.
 * `open`: requests are due at a steady rate whatever the answers do, and the time of each counts from when it was due.
 */
export type LoadOrder = {
  readonly url: string
  readonly token: string
  readonly connections: number
  readonly seconds: number
  /** Requests a second; closed when absent. */
  readonly perSecond?: number
  readonly people: number
  /** Number of the first body; each request takes the next one. */
  readonly from: number
  /** Whether each request carries an `Idempotency-Key` of its own. */
  readonly idempotencyKeys: boolean
}

export type LoadResult = {
  readonly accepted: number
  readonly refused: number
  /** From the first request to the last answer. */
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly mostMs: number
}
