import * as v from 'valibot'
import { accountRecord, contactRecord } from './contact-record.ts'
import { conversationRecord } from './conversation-record.ts'
import { feedbackRecord } from './feedback-record.ts'
import { purgeRequest } from './purge-request.ts'
import type { BatchQueueName } from './queues.ts'
import { traceparent } from './traceparent.ts'

/** Version of every job's payload. */
export const JOB_VERSION = 1

const admitted = {
  version: v.literal(JOB_VERSION),
  workspaceId: v.pipe(v.string(), v.uuid()),
  submissionId: v.pipe(v.string(), v.uuid()),
  /** Acceptance number: microseconds since 1970 by Redis's clock, strictly increasing in the workspace. */
  number: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
  /** The place of the request in its trace; absent when the request was not traced. */
  traceparent: v.exactOptional(traceparent),
}

export const submissionJob = v.variant('operation', [
  v.object({ ...admitted, operation: v.literal('create_feedback'), body: feedbackRecord }),
  v.object({ ...admitted, operation: v.literal('identify_contact'), body: contactRecord }),
  v.object({ ...admitted, operation: v.literal('identify_account'), body: accountRecord }),
  v.object({ ...admitted, operation: v.literal('submit_conversation'), body: conversationRecord }),
  v.object({ ...admitted, operation: v.literal('purge_contact'), body: purgeRequest }),
])

export const OPERATIONS = submissionJob.options.map(({ entries }) => entries.operation.literal)

/**
 * A submission job whose body is not checked again: the version that accepted it did, and newer rules must not refuse what was
 * accepted. A check with the body took a worker 133 µs of processor time a drained feedback instead of 113, and 55 µs a conversation.
 */
export const acceptedJob = v.object({
  ...admitted,
  operation: v.picklist(OPERATIONS),
  body: v.custom<object>((body) => typeof body === 'object' && body !== null),
})

/** An accepted submission on its way to Postgres. */
export type SubmissionJob = v.InferOutput<typeof submissionJob>
export type Operation = SubmissionJob['operation']
export type JobOf<O extends Operation> = Extract<SubmissionJob, { operation: O }>

/**
 * Reads the JSON text of a job. Undefined when it is no submission of this version.
 *
 * @throws SyntaxError when the text is not JSON.
 */
export const parseJob = (text: string): SubmissionJob | undefined => {
  const parsed = v.safeParse(acceptedJob, JSON.parse(text))
  return parsed.success ? (parsed.output as SubmissionJob) : undefined
}

/**
 * A job of a queue of submissions: it names batches, which lie in the books of their workspaces (queue/). `submissions` and `bytes`
 * say how many submissions and how many bytes of bodies, roughly, each batch has. `follows`: what of its workspace was outstanding when it
 * was admitted, as far as that is known: nothing, so that nothing comes before it, or no purge, so that it waits for none.
 */
export const batchJob = v.object({
  version: v.literal(JOB_VERSION),
  batches: v.array(
    v.object({
      workspaceId: admitted.workspaceId,
      batchId: v.pipe(v.string(), v.uuid()),
      submissions: v.number(),
      bytes: v.number(),
      follows: v.exactOptional(v.picklist(['nothing', 'no purge'])),
    }),
  ),
})
export type BatchJob = v.InferOutput<typeof batchJob>
export type NamedBatch = BatchJob['batches'][number]

/** A job of the queue `backlogs`: the batches in the backlog of this workspace are to be stored, a share of them at a time. */
export const backlogJob = v.object({ version: v.literal(JOB_VERSION), workspaceId: admitted.workspaceId })
export type BacklogJob = v.InferOutput<typeof backlogJob>

/**
 * Stored records of one workspace that the tagger is to read: they need tags, or people tagged them and it learns from that.
 * Their texts are read from Postgres.
 */
export const taggingJob = v.object({
  version: v.literal(JOB_VERSION),
  workspaceId: v.pipe(v.string(), v.uuid()),
  feedbackIds: v.array(v.pipe(v.string(), v.uuid())),
  conversationIds: v.array(v.pipe(v.string(), v.uuid())),
  /** Read records again that this version of the tagger has read. The tags that people gave are then left alone. */
  again: v.optional(v.boolean()),
  /** The places in their traces of the submissions that brought the texts; only of those that were traced. */
  traceparents: v.exactOptional(v.array(traceparent)),
})
export type TaggingJob = v.InferOutput<typeof taggingJob>

/** The queue that carries an operation. */
export const QUEUE_OF: Readonly<Record<Operation, BatchQueueName>> = {
  create_feedback: 'submissions',
  identify_contact: 'submissions',
  identify_account: 'submissions',
  submit_conversation: 'conversations',
  purge_contact: 'purges',
}
