/** Bounds of what is accepted. A bound that can be configured stands here with its default. */
export const MAX_IDENTIFIER_CHARACTERS = 512
export const MAX_BODY_BYTES = 512 * 1024
export const MAX_CONVERSATION_BODY_BYTES = 5 * 1024 * 1024
export const MAX_DEPTH_LEVELS = 64
export const MAX_CONVERSATION_MESSAGES = 10_000
export const MAX_CONVERSATION_CONTACTS = 10_000
export const MAX_PROPAGATED_BYTES = 32 * 1024 * 1024
/** For so long after its acceptance a submission is known by its `Idempotency-Key`. */
export const IDEMPOTENCY_SECONDS = 24 * 60 * 60
export const MAX_REPORTED_PROBLEMS = 100
/** From this share of its `maxmemory` on Redis takes no new work, so that workers, who need memory too, can always drain it. */
export const REDIS_FULL_SHARE = 0.8
