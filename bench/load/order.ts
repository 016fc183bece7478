import type { BodyKind } from '../bodies.ts'

/**
 * A load for the load generator. In a closed load, a connection sends its next request when the
 * former request is answered. In an open load, requests are due at a steady rate, and the latency
 * of a request counts from its due time.
 */
export type LoadOrder = {
  readonly url: string
  /** Requests use the tokens in turn. */
  readonly tokens: readonly string[]
  readonly connections: number
  readonly seconds: number
  /** Requests a second of an open load; absent for a closed load. */
  readonly perSecond?: number
  readonly kind: BodyKind
  readonly people: number
  readonly numbers: Numbers
  /** Whether each request has its own `Idempotency-Key`, made from its number. */
  readonly idempotencyKeys: boolean
}

/** The numbers of the bodies: at most `most` numbers, from `from` on. */
export type Numbers = { readonly from: number; readonly most: number }

export type LoadResult = {
  readonly accepted: number
  readonly refused: number
  /** The bytes of all sent bodies. */
  readonly bodyBytes: number
  /** The time from the first request to the last answer. */
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
}
