/**
 * Keyed hashes of an `Idempotency-Key`, together with its operation, and of the body that came with
 * it.
 */
export type Idempotency = { key: string; body: string }

/** The submission to which a key leads, and the hash of its body. */
export type IdempotencyRecord = { body: string; submissionId: string; number: number }
