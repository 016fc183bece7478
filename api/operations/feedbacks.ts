import { feedbackRecord } from '../../contract/feedback-record.ts'
import { type AnswerReferences, answerReferences } from '../../contract/identity/reference.ts'
import { feedbackSayings } from '../../contract/identity/sayings.ts'
import type { JobOf } from '../../contract/job.ts'
import { feedbackId, feedbackSource, feedbackSourceData } from '../../contract/stored-feedback.ts'
import type { Ingress } from '../submit/ingress.ts'
import type { Admitted, Grounds, SubmissionKind } from './submission-kind.ts'

type FeedbackGrounds = Grounds & { id: string; references: AnswerReferences }

/** POST /feedbacks: 201 with the record as it will be stored. */
export const createFeedback: SubmissionKind<'create_feedback', FeedbackGrounds> = {
  operation: 'create_feedback',
  needs: 'submit',
  schema: feedbackRecord,
  groundsOf: (realm, { submissionId, body }) => {
    const id = feedbackId({ ...realm, submissionId }, body)
    const references = answerReferences({ ...realm, number: 0, recordId: id }, body)
    return { id, references, sayings: feedbackSayings(references, feedbackSource(body)) }
  },
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
  { grounds: { id, references }, admitted: { queued, purgesQueued } }: { grounds: FeedbackGrounds; admitted: Admitted },
): Promise<Feedback> => {
  const source = feedbackSource(body)
  const meant = await ingress.resolveReferences({ workspaceId, number, source, references, queued, purgesQueued })
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
