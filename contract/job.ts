import * as v from 'valibot'
import { accountRecord, contactRecord } from './contact-record.ts'
import { conversationRecord } from './conversation-record.ts'
import { feedbackRecord } from './feedback-record.ts'
import { purgeRequest } from './purge-request.ts'
import type { QueueName } from './queues.ts'
import { traceparent } from './traceparent.ts'

/** Version of every job's payload. */
export const JOB_VERSION = 1

const admitted = {
  version: v.literal(JOB_VERSION),
  workspaceId: v.pipe(v.string(), v.uuid()),
  submissionId: v.pipe(v.string(), v.uuid()),
  /** Acceptance number: microseconds since 1970 on Redis's clock, strictly increasing in the workspace. */
  number: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
  /** Of the request, when it was traced. */
  traceparent: v.exactOptional(traceparent),
}

export const submissionJob = v.variant('operation', [
  v.object({ ...admitted, operation: v.literal('create_feedback'), body: feedbackRecord }),
  v.object({ ...admitted, operation: v.literal('identify_contact'), body: contactRecord }),
  v.object({ ...admitted, operation: v.literal('identify_account'), body: accountRecord }),
  v.object({ ...admitted, operation: v.literal('submit_conversation'), body: conversationRecord }),
  v.object({ ...admitted, operation: v.literal('purge_contact'), body: purgeRequest }),
])

const OPERATIONS = [
  'create_feedback',
  'identify_contact',
  'identify_account',
  'submit_conversation',
  'purge_contact',
] as const

/** An accepted submission on its way to Postgres. */
export type SubmissionJob = v.InferOutput<typeof submissionJob>
export type Operation = SubmissionJob['operation']
export type JobOf<O extends Operation> = Extract<SubmissionJob, { operation: O }>

/** The submission that a job's JSON text is; undefined when nothing of ours wrote it. */
export const parseJob = (text: string): SubmissionJob | undefined => {
  const parsed = v.safeParse(submissionJob, JSON.parse(text))
  return parsed.success ? parsed.output : undefined
}

/** What is left of a job once its submission is settled: nothing that anybody submitted. */
export const settledJob = v.object({
  // First, since mostly it is asked of jobs that are not.
  settled: v.literal(true),
  version: v.literal(JOB_VERSION),
  operation: v.picklist(OPERATIONS),
  workspaceId: admitted.workspaceId,
  submissionId: admitted.submissionId,
  number: admitted.number,
})
export type SettledJob = v.InferOutput<typeof settledJob>

/** Stored records of one workspace that want tags, or have them from people and are to be learned from; their texts are read from Postgres. */
export const taggingJob = v.object({
  version: v.literal(JOB_VERSION),
  workspaceId: v.pipe(v.string(), v.uuid()),
  feedbackIds: v.array(v.pipe(v.string(), v.uuid())),
  conversationIds: v.array(v.pipe(v.string(), v.uuid())),
  /** Also what the tagger of this version has read already; people's tags are left alone then. */
  again: v.optional(v.boolean()),
  /** Of the submissions that the texts came with, as far as they were traced. */
  traceparents: v.exactOptional(v.array(traceparent)),
})
export type TaggingJob = v.InferOutput<typeof taggingJob>

/** The queue that carries an operation. */
export const QUEUE_OF: Readonly<Record<Operation, QueueName>> = {
  create_feedback: 'feedback',
  identify_contact: 'contacts',
  identify_account: 'accounts',
  submit_conversation: 'conversations',
  purge_contact: 'purges',
}
