/** Bounds of what is accepted. A bound that can be configured stands here with its default. */
export const MAX_IDENTIFIER_CHARACTERS = 512
/** Of a rating or a contract value, positive or negative. */
export const MAX_AMOUNT = 1e15
export const MAX_TAGS = 100
export const MAX_TAG_CHARACTERS = 200
/** In any one object of `properties` or `sourceData`, however deep it lies. */
export const MAX_OBJECT_MEMBERS = 1_000
/** One member of what is stored as metadata of a contact or account: its name and its value. */
export const MAX_METADATA_MEMBER_BYTES = 16 * 1024
export const MAX_BODY_BYTES = 512 * 1024
export const MAX_CONVERSATION_BODY_BYTES = 5 * 1024 * 1024
/** Of bodies that an API process reads, parses and validates at a time. */
export const MAX_BYTES_IN_HAND = 64 * 1024 * 1024
export const MAX_DEPTH_LEVELS = 64
export const MAX_BATCH_ITEMS = 500
export const MAX_BATCH_BODY_BYTES = 5 * 1024 * 1024
export const MAX_CONVERSATION_MESSAGES = 10_000
export const MAX_CONVERSATION_CONTACTS = 10_000
export const MAX_PROPAGATED_BYTES = 32 * 1024 * 1024
/** For so long after its acceptance a submission is known by its `Idempotency-Key`. */
export const IDEMPOTENCY_SECONDS = 24 * 60 * 60
/**
 * A token look-up is remembered for this long, so a revoked token is refused after this time at the
 * latest.
 */
export const TOKEN_REMEMBERED_MS = 5_000
/** A token that was valid stays usable for this long while Postgres cannot be asked. */
export const TOKEN_USABLE_WITHOUT_POSTGRES_MS = 60 * 60 * 1_000
export const MAX_REPORTED_PROBLEMS = 100
/**
 * Above this share of the `maxmemory` of Redis new work is refused, so that the workers, which need
 * memory too, can drain it.
 */
export const REDIS_FULL_SHARE = 0.8
