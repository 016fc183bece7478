import * as v from 'valibot'
import { traceparent } from './traceparent.ts'

const uuid = v.pipe(v.string(), v.uuid())

/** A job of the queues `wake` and `backlog`: the logs of these workspaces have entries to apply. */
export const wakeJob = v.object({ workspaceIds: v.array(uuid) })
export type WakeJob = v.InferOutput<typeof wakeJob>

/** A job of the queue `removal`: the records of a decided purge are to be removed. */
export const removalJob = v.object({ workspaceId: uuid, purgeId: uuid })
export type RemovalJob = v.InferOutput<typeof removalJob>

/**
 * A job of the queue `webhook`: a webhook has changes to get, or gets a message that only tests it.
 */
export const webhookJob = v.object({ workspaceId: uuid, webhookId: uuid, isTest: v.optional(v.boolean(), false) })
export type WebhookJob = v.InferInput<typeof webhookJob>

/**
 * A job of the queue `tagging`: stored records of one workspace that need tags, or that people
 * tagged and the tagger learns from. Their texts are read from Postgres.
 */
export const taggingJob = v.object({
  workspaceId: uuid,
  feedbackIds: v.array(uuid),
  conversationIds: v.array(uuid),
  /**
   * Read records again that this version of the tagger has read. The tags that people gave are then
   * left alone.
   */
  again: v.optional(v.boolean()),
  /** The places in their traces of the traced submissions that brought the texts. */
  traceparents: v.exactOptional(v.array(traceparent)),
})
export type TaggingJob = v.InferOutput<typeof taggingJob>
