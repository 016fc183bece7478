import { feedbackRecord } from '../contract/feedback-record.ts'
import type { JobOf } from '../contract/job.ts'
import type { Realm } from '../contract/identity/own-id.ts'
import { feedbackSayings } from '../contract/identity/sayings.ts'
import { type AnswerReferences, answerReferences } from '../contract/identity/reference.ts'
import { feedbackId, feedbackSource, feedbackSourceData } from '../contract/stored-feedback.ts'
import type { Admitted, Grounds, Ingress, SubmissionKind } from './submit.ts'

type FeedbackGrounds = Grounds & { id: string; references: AnswerReferences }

const groundsOf = (realm: Realm, { submissionId, body }: JobOf<'create_feedback'>): FeedbackGrounds => {
  const id = feedbackId({ ...realm, submissionId }, body)
  const references = answerReferences({ ...realm, number: 0, recordId: id }, body)
  return { id, references, sayings: feedbackSayings(references, feedbackSource(body)) }
}

/** POST /feedbacks: 201 with the record as it will be stored; members without a value are left out. */
export const createFeedback: SubmissionKind<'create_feedback', typeof feedbackRecord, FeedbackGrounds> = {
  operation: 'create_feedback',
  needs: 'submit',
  schema: feedbackRecord,
  groundsOf,
  respond: async (ingress, job, known) => ({
    status: 201,
    body: { feedback: await feedbackAnswer(ingress, job, known) },
  }),
}

/** A feedback as the answer has it: as it will be stored, members without a value left out. */
export type Feedback = {
  id: string
  description: string
  customerId?: string
  projectId?: string
  rating?: number
  sourceId?: string
  sourceData?: object
}

const feedbackAnswer = async (
  ingress: Ingress,
  { body, workspaceId, number }: JobOf<'create_feedback'>,
  { grounds, admitted }: { grounds: FeedbackGrounds; admitted: Admitted },
): Promise<Feedback> => {
  const { id, references } = grounds
  const { queued, purgesQueued } = admitted
  const meant = await ingress.resolveReferences({
    workspaceId,
    number,
    source: feedbackSource(body),
    references,
    queued,
    purgesQueued,
  })
  const sourceData = feedbackSourceData(body)
  return {
    id,
    description: body.description,
    ...(meant.contact !== null && { customerId: meant.contact }),
    ...(meant.project !== null && { projectId: meant.project }),
    ...(body.rating != null && { rating: body.rating }),
    ...(body.sourceId != null && { sourceId: body.sourceId }),
    ...(sourceData !== null && { sourceData }),
  }
}
