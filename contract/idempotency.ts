/** Keyed hashes: `key` of an `Idempotency-Key` with its operation, `body` of the body. */
export type Idempotency = { key: string; body: string }

/** The submission that an idempotency key belongs to, and the hash of its body. */
export type IdempotencyRecord = { body: string; submissionId: string; number: number }
