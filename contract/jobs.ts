import * as v from 'valibot'

/**
 * Each kind of work has a queue, so that operators can watch and scale each kind separately:
 *
 * - `wake`: the logs of workspaces that are not deep
 * - `backlog`: the log of a deep workspace
 * - `removal`: the records of purges
 * - `tagging`: the tags of stored records
 * - `webhook`: deliveries to webhooks
 */
export const QUEUE_NAMES = ['wake', 'backlog', 'removal', 'tagging', 'webhook'] as const
export type QueueName = (typeof QUEUE_NAMES)[number]

/**
 * A trace context in version 00 of W3C Trace Context (https://www.w3.org/TR/trace-context/). The
 * ids of the trace and of the span are not all zeros.
 */
export const traceparent = v.pipe(v.string(), v.regex(/^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/))

const uuid = v.pipe(v.string(), v.uuid())

/** A job of the queues `wake` and `backlog`: the logs of these workspaces have entries to apply. */
export const wakeJob = v.object({ workspaceIds: v.array(uuid) })
export type WakeJob = v.InferOutput<typeof wakeJob>

/** A job of the queue `removal`: remove the records of a decided purge. */
export const removalJob = v.object({ workspaceId: uuid, purgeId: uuid })
export type RemovalJob = v.InferOutput<typeof removalJob>

/** A job of the queue `webhook`: deliver changes to a webhook, or send it a test message. */
export const webhookJob = v.object({ workspaceId: uuid, webhookId: uuid, isTest: v.optional(v.boolean(), false) })
export type WebhookJob = v.InferInput<typeof webhookJob>

/**
 * A job of the queue `tagging`: stored records of one workspace. The worker reads their texts from
 * Postgres. The job generates missing tags, learns from the tags that people gave, and puts the words
 * of all texts into the search index.
 */
export const taggingJob = v.object({
  workspaceId: uuid,
  feedbackIds: v.array(uuid),
  conversationIds: v.array(uuid),
  /** Further feedback, for the search index alone. */
  indexedIds: v.exactOptional(v.array(uuid)),
  /** Also replace tags that this version of the tagger generated. Tags that people gave stay. */
  isRetag: v.optional(v.boolean()),
  /** The trace contexts of the submissions that brought the texts, where they are traced. */
  traceparents: v.exactOptional(v.array(traceparent)),
})
export type TaggingJob = v.InferOutput<typeof taggingJob>

/** The version of the tagger. Raise it with every change that can give a text other tags. */
export const TAGGER_VERSION = 7
