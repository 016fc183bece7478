// Bounds that several rooms share. Most of them limit accepted bodies. Three are only the defaults of
// settings (runtime/settings.ts).

export const MAX_IDENTIFIER_CHARACTERS = 512
/**
 * The largest rating or contract value, positive or negative. The sum of far larger ratings would
 * overflow in Postgres.
 */
export const MAX_AMOUNT = 1e15
/** The smallest rating or contract value besides 0. The satisfaction of far smaller ones would underflow in Postgres. */
export const MIN_AMOUNT = 1e-100
export const MAX_TAGS = 100
/** The most feedback that one edit puts into a theme, or takes out of it. */
export const MAX_THEME_FEEDBACKS = 500
export const MAX_TAG_CHARACTERS = 200
/** The names of declared fields in all sources of a workspace. */
export const MAX_WORKSPACE_FIELDS = 20
/** Members of one object in `properties` or `sourceData`, at any depth. */
export const MAX_OBJECT_MEMBERS = 1_000
/** Bytes of one metadata member of a contact or account, name and value together. */
export const MAX_METADATA_MEMBER_BYTES = 16 * 1024
export const MAX_BODY_BYTES = 512 * 1024
export const MAX_CONVERSATION_BODY_BYTES = 5 * 1024 * 1024
/** Bytes of bodies that an API process reads, parses and validates at a time. */
export const MAX_BYTES_IN_HAND = 64 * 1024 * 1024
export const MAX_DEPTH_LEVELS = 64
export const MAX_BATCH_ITEMS = 500
export const MAX_BATCH_BODY_BYTES = 5 * 1024 * 1024
export const MAX_CONVERSATION_MESSAGES = 10_000
export const MAX_CONVERSATION_CONTACTS = 10_000
export const MAX_PROPAGATED_BYTES = 32 * 1024 * 1024
/** How long an `Idempotency-Key` leads to its submission. */
export const IDEMPOTENCY_SECONDS = 24 * 60 * 60
/**
 * How long a token look-up is cached. A revoked token is refused after this time at the latest,
 * unless Postgres is away.
 */
export const TOKEN_REMEMBERED_MS = 5_000
/** How long a valid token stays usable after its last look-up, while Postgres is away. */
export const TOKEN_USABLE_WITHOUT_POSTGRES_MS = 60 * 60 * 1_000
export const MAX_REPORTED_PROBLEMS = 100
/**
 * Above this share of Redis's `maxmemory` the API refuses new work. The workers need the rest of
 * the memory to drain the log.
 */
export const REDIS_FULL_SHARE = 0.8
